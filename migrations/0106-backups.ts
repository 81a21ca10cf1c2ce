import type { Migration } from './migration.types.ts';

/** When the database was backed up: who watches Tollgate hears when nobody does any more. */
export const backups: Migration = {
  name: '0106-backups',
  up: `
    CREATE TABLE backups (
      -- of the state that was saved
      at timestamptz PRIMARY KEY DEFAULT statement_timestamp(),
      bytes bigint CHECK (bytes > 0)
    );
  `,
  down: 'DROP TABLE backups;',
};

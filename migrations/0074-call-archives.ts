import type { Migration } from './migration.types.ts';

/** Months whose calls were exported to a file, and those that live there alone. */
export const callArchives: Migration = {
  name: '0074-call-archives',
  up: `
    CREATE TABLE call_archives (
      month_start timestamptz PRIMARY KEY,
      month_end timestamptz NOT NULL,
      calls bigint NOT NULL,
      -- in the order of the file
      columns text[] NOT NULL,
      bytes bigint NOT NULL,
      sha256 bytea NOT NULL,
      exported_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      -- NULL: the calls are in the database, too
      dropped_at timestamptz,
      CHECK (month_end > month_start)
    );
  `,
  down: 'DROP TABLE call_archives;',
};

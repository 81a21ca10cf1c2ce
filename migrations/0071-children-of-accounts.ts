import type { Migration } from './migration.types.ts';

/**
 * Every row says whose it is, also the rows of a task, of a delivery and of a document: what is to be moved, counted or deleted by account needs no
 * join. Null in rows that a process of the release before writes while it is being replaced.
 */
export const childrenOfAccounts: Migration = {
  name: '0071-children-of-accounts',
  up: `
    ALTER TABLE task_events ADD COLUMN account_id uuid;
    ALTER TABLE task_outputs ADD COLUMN account_id uuid;
    ALTER TABLE webhook_tries ADD COLUMN account_id uuid;
    ALTER TABLE document_csv_parts ADD COLUMN account_id uuid;
  `,
  down: `
    ALTER TABLE document_csv_parts DROP COLUMN account_id;
    ALTER TABLE webhook_tries DROP COLUMN account_id;
    ALTER TABLE task_outputs DROP COLUMN account_id;
    ALTER TABLE task_events DROP COLUMN account_id;
  `,
};

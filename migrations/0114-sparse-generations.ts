import type { Migration } from './migration.types.ts';

/**
 * A generation keeps the id of its request only where that does not follow from its own (src/ledger/stored-call.ts), and NULL for what is 0
 * in most rows.
 */
export const sparseGenerations: Migration = {
  name: '0114-sparse-generations',
  up: `
    ALTER TABLE holds ALTER COLUMN request_id DROP NOT NULL;
    ALTER TABLE generations ALTER COLUMN request_id DROP NOT NULL, ALTER COLUMN cache_read_tokens DROP NOT NULL,
      ALTER COLUMN cache_write_tokens DROP NOT NULL, ALTER COLUMN reasoning_tokens DROP NOT NULL, ALTER COLUMN shortfall DROP NOT NULL;
    DROP INDEX generations_request;`,
  down: `
    CREATE INDEX generations_request ON generations (account_id, request_id);
    ALTER TABLE generations ALTER COLUMN request_id SET NOT NULL, ALTER COLUMN cache_read_tokens SET NOT NULL,
      ALTER COLUMN cache_write_tokens SET NOT NULL, ALTER COLUMN reasoning_tokens SET NOT NULL, ALTER COLUMN shortfall SET NOT NULL;
    ALTER TABLE holds ALTER COLUMN request_id SET NOT NULL;`,
};

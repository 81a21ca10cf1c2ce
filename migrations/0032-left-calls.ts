import type { Migration } from './migration.types.ts';

/**
 * Calls without an Idempotency-Key that go on though their clients left are kept beside those with one, under a name that no header can
 * have. Until when a retry may join one stands with it; NULL: one has, or the row is of a header.
 */
export const leftCalls: Migration = {
  name: '0032-left-calls',
  up: `
    ALTER TABLE idempotency_keys ADD COLUMN joinable_until timestamptz;
    CREATE INDEX idempotency_keys_left ON idempotency_keys (account_id, fingerprint, joinable_until)
      WHERE joinable_until IS NOT NULL;
  `,
  down: `
    DROP INDEX idempotency_keys_left;
    ALTER TABLE idempotency_keys DROP COLUMN joinable_until;
  `,
};

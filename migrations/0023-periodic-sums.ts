import type { Migration } from './migration.types.ts';

/** What lets statements that run by the clock cost the same whatever the installation has behind it. */
export const periodicSums: Migration = {
  name: '0023-periodic-sums',
  up: `
    -- write_offs before \`until\`, the same instant in every row, by reason
    CREATE TABLE write_off_totals (
      reason text PRIMARY KEY,
      amount numeric NOT NULL,
      until timestamptz NOT NULL
    );
    CREATE INDEX write_offs_at ON write_offs (at);
    CREATE INDEX checkout_sessions_pending ON checkout_sessions (created_at)
      WHERE status = 'open' OR (status = 'complete' AND payment_status = 'unpaid');
    DROP INDEX checkout_sessions_open;
  `,
  down: `
    CREATE INDEX checkout_sessions_open ON checkout_sessions (created_at) WHERE status = 'open';
    DROP INDEX checkout_sessions_pending;
    DROP INDEX write_offs_at;
    DROP TABLE write_off_totals;
  `,
};

import type { Migration } from './migration.types.ts';

/** What workers on hosts without a database show to the API. Of a token only its hash is kept. */
export const workerTokens: Migration = {
  name: '0080-worker-tokens',
  up: `
    CREATE TABLE worker_tokens (
      id uuid PRIMARY KEY,
      -- the hosts of its workers are called <name>:<host>
      name text NOT NULL,
      hash text NOT NULL UNIQUE,
      -- whose tasks it opens
      pools text[] NOT NULL CHECK (cardinality(pools) > 0),
      created_by text NOT NULL,
      created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      last_used_at timestamptz,
      revoked_at timestamptz
    );
    CREATE UNIQUE INDEX worker_tokens_name ON worker_tokens (name) WHERE revoked_at IS NULL;
  `,
  down: `
    DROP TABLE worker_tokens;
  `,
};

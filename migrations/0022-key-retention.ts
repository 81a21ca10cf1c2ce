import type { Migration } from './migration.types.ts';

/** A bound on the keys an account has at once, and what is needed to forget keys that were never charged. */
export const keyRetention: Migration = {
  name: '0022-key-retention',
  up: `
    ALTER TABLE accounts ADD COLUMN max_keys integer NOT NULL DEFAULT 200
      CONSTRAINT accounts_max_keys_check CHECK (max_keys BETWEEN 1 AND 100000);
    -- NULL: not looked at since the key was deleted. True: reports name the key, so its row stays.
    ALTER TABLE api_keys ADD COLUMN has_history boolean;
    CREATE INDEX api_keys_live ON api_keys (account_id, id DESC) WHERE deleted_at IS NULL;
    CREATE INDEX api_keys_expiry ON api_keys (expires_at) WHERE expires_at IS NOT NULL AND deleted_at IS NULL;
    CREATE INDEX api_keys_deleted ON api_keys (deleted_at) WHERE deleted_at IS NOT NULL AND has_history IS NULL;
  `,
  down: `
    DROP INDEX api_keys_live, api_keys_expiry, api_keys_deleted;
    ALTER TABLE api_keys DROP COLUMN has_history;
    ALTER TABLE accounts DROP COLUMN max_keys;
  `,
};

import type { Migration } from './migration.types.ts';

/**
 * What an account wants to be told, and what it was told. `seen_seq` is the account's entry that was looked at last: whatever is spent or
 * bought since is one entry more. Deliveries of such events stand beside those of tasks, with what they tell in `facts`.
 */
export const accountAlerts: Migration = {
  name: '0045-account-alerts',
  up: `
    CREATE TABLE account_alerts (
      account_id uuid PRIMARY KEY REFERENCES accounts (id),
      url text,
      credits_low bigint CHECK (credits_low > 0),
      key_limit_near smallint CHECK (key_limit_near BETWEEN 1 AND 100),
      credits_told boolean NOT NULL DEFAULT false,
      seen_seq bigint NOT NULL DEFAULT -1
    );

    -- A key is told once per limit, share of it and period: the row is what was told last.
    CREATE TABLE key_alerts (
      api_key_id uuid PRIMARY KEY REFERENCES api_keys (id) ON DELETE CASCADE,
      account_id uuid NOT NULL REFERENCES accounts (id),
      limit_nano bigint NOT NULL,
      share smallint NOT NULL,
      counted_from timestamptz
    );

    ALTER TABLE webhook_deliveries
      ALTER COLUMN task_id DROP NOT NULL,
      ADD COLUMN event text NOT NULL DEFAULT 'ASYNC_TASK_RESULT',
      ADD COLUMN facts jsonb,
      ADD CONSTRAINT webhook_deliveries_task_or_facts CHECK ((task_id IS NULL) = (facts IS NOT NULL));
    CREATE INDEX webhook_deliveries_alerts ON webhook_deliveries (created_at) WHERE task_id IS NULL;
    CREATE INDEX webhook_deliveries_account_alerts ON webhook_deliveries (account_id, created_at DESC) WHERE task_id IS NULL;
  `,
  down: `
    DROP FUNCTION IF EXISTS tell_alerts(integer);
    DELETE FROM webhook_deliveries WHERE task_id IS NULL;
    DROP INDEX webhook_deliveries_alerts, webhook_deliveries_account_alerts;
    ALTER TABLE webhook_deliveries
      DROP CONSTRAINT webhook_deliveries_task_or_facts, DROP COLUMN facts, DROP COLUMN event, ALTER COLUMN task_id SET NOT NULL;
    DROP TABLE key_alerts;
    DROP TABLE account_alerts;
  `,
};

import type { Migration } from './migration.types.ts';

/**
 * Rate limits of single accounts and keys: {requests_per_minute, tokens_per_minute, concurrency}, of accounts also queued_tasks. A member
 * that is absent, and NULL, stand for the configured limit.
 */
export const rateLimits: Migration = {
  name: '0025-rate-limits',
  up: `
    ALTER TABLE accounts ADD COLUMN rate_limits jsonb
      CONSTRAINT accounts_rate_limits_check CHECK (jsonb_typeof(rate_limits) = 'object');
    ALTER TABLE api_keys ADD COLUMN rate_limits jsonb
      CONSTRAINT api_keys_rate_limits_check CHECK (jsonb_typeof(rate_limits) = 'object');
  `,
  down: `
    ALTER TABLE api_keys DROP COLUMN rate_limits;
    ALTER TABLE accounts DROP COLUMN rate_limits;
  `,
};

import type { Migration } from './migration.types.ts';

/**
 * Limits of keys that renew by the UTC day, week (from Monday) or month. What counts towards a limit is `spent` less
 * `spent_before`, what it was when the count began; `counted_from` is when that was, and never goes back.
 */
export const keyBudgets: Migration = {
  name: '0029-key-budgets',
  up: `
    ALTER TABLE api_keys
      ADD COLUMN limit_reset text
        CONSTRAINT api_keys_limit_reset_check CHECK (limit_reset IN ('daily', 'weekly', 'monthly')),
      ADD COLUMN spent_before bigint NOT NULL DEFAULT 0,
      ADD COLUMN counted_from timestamptz,
      ADD CONSTRAINT api_keys_count_begins CHECK ((limit_reset IS NULL) = (counted_from IS NULL)),
      ADD CONSTRAINT api_keys_never_above_limit
        CHECK (cap_nano IS NULL OR spent - spent_before + held <= cap_nano),
      DROP CONSTRAINT api_keys_never_above_cap;
  `,
  down: `
    UPDATE api_keys SET cap_nano = greatest(cap_nano, spent + held) WHERE cap_nano IS NOT NULL;
    ALTER TABLE api_keys
      ADD CONSTRAINT api_keys_never_above_cap CHECK (cap_nano IS NULL OR spent + held <= cap_nano),
      DROP CONSTRAINT api_keys_never_above_limit,
      DROP COLUMN limit_reset, DROP COLUMN spent_before, DROP COLUMN counted_from;
  `,
};

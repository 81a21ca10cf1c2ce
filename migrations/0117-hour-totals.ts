import type { Migration } from './migration.types.ts';

/**
 * What an account was charged in an hour, over all keys, endpoints and models. Costs that are not grouped read one row an hour, however
 * many keys and models an account has. Days that were filled before this step get their totals from the next run of maintenance.
 */
export const hourTotals: Migration = {
  name: '0117-hour-totals',
  up: `
    CREATE TABLE usage_hour_totals (
      account_id uuid NOT NULL,
      -- start of the hour, UTC
      hour timestamptz NOT NULL,
      charge_input bigint NOT NULL,
      charge_output bigint NOT NULL,
      charge_cache_read bigint NOT NULL,
      charge_cache_write bigint NOT NULL,
      charge_reasoning bigint NOT NULL,
      charge_request bigint NOT NULL,
      charge_image bigint NOT NULL,
      charge_video bigint NOT NULL,
      CONSTRAINT usage_hour_totals_aligned CHECK (hour = date_bin('1 hour', hour, 'epoch'::timestamptz)),
      PRIMARY KEY (account_id, hour)
    );

    -- Hours before totals_until are in usage_hour_totals.
    ALTER TABLE usage_day_marks ADD COLUMN totals_until timestamptz NOT NULL DEFAULT '-infinity',
      ADD CONSTRAINT usage_day_marks_hours_first CHECK (totals_until <= filled_until);
  `,
  down: `
    ALTER TABLE usage_day_marks DROP COLUMN totals_until;
    DROP TABLE usage_hour_totals;
  `,
};

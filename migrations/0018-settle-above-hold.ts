import type { Migration } from './migration.types.ts';

/**
 * A call may cost more than its hold: the rest is taken from what is free, and what cannot be had is written off by its
 * cause. `metering` keeps what else is known about how a call was metered: members left out, our count beside the
 * provider's report.
 */
export const settleAboveHold: Migration = {
  name: '0018-settle-above-hold',
  up: `
    ALTER TYPE hold_settlement
      ADD ATTRIBUTE beyond_max_cost bigint, ADD ATTRIBUTE waiver_max bigint, ADD ATTRIBUTE waived bigint,
      ADD ATTRIBUTE metering jsonb;
    ALTER TABLE generations DROP CONSTRAINT generations_charge_within_hold;
    ALTER TABLE generations ADD COLUMN metering jsonb;
    ALTER TABLE write_offs DROP CONSTRAINT write_offs_reason_check;
    ALTER TABLE write_offs ADD CONSTRAINT write_offs_reason_check
      CHECK (reason IN ('above_hold', 'late_settlement', 'above_max_cost', 'provider_failure'));
    -- what an account was waived in the last hour
    CREATE INDEX write_offs_waived ON write_offs (account_id, at) WHERE reason = 'provider_failure';`,
  down: `
    DROP INDEX write_offs_waived;
    ALTER TABLE write_offs DROP CONSTRAINT write_offs_reason_check;
    ALTER TABLE write_offs ADD CONSTRAINT write_offs_reason_check CHECK (reason IN ('above_hold', 'late_settlement')) NOT VALID;
    ALTER TABLE generations DROP COLUMN metering;
    ALTER TABLE generations ADD CONSTRAINT generations_charge_within_hold CHECK (charge <= hold_amount) NOT VALID;
    ALTER TYPE hold_settlement
      DROP ATTRIBUTE beyond_max_cost, DROP ATTRIBUTE waiver_max, DROP ATTRIBUTE waived, DROP ATTRIBUTE metering;`,
};

import type { Migration } from './migration.types.ts';

/**
 * What a payment provider has taken of a purchase, refund by refund and dispute by dispute, and how much of it is booked. A refund
 * that fails and a dispute that is won are the same row at zero: the ledger follows the state, whatever events led to it.
 */
export const paymentStandings: Migration = {
  name: '0013-payment-standings',
  up: `
    CREATE TABLE payment_standings (
      purchase_reference uuid NOT NULL,
      -- the provider's id of the refund or dispute
      reversal text NOT NULL,
      account_id uuid NOT NULL,
      kind text NOT NULL CHECK (kind IN ('refund', 'dispute')),
      -- what the provider has taken by its last word; zero once it failed, was cancelled or was won
      amount bigint NOT NULL CHECK (amount >= 0),
      booked bigint NOT NULL CHECK (booked >= 0),
      -- what could not be booked: more than the purchase has left
      unbooked bigint NOT NULL DEFAULT 0 CHECK (unbooked >= 0),
      -- bookings so far; with the reversal's id it makes the reference of the next one
      steps integer NOT NULL DEFAULT 0,
      first_at timestamptz NOT NULL,
      PRIMARY KEY (purchase_reference, reversal)
    );
    CREATE INDEX payment_standings_account ON payment_standings (account_id);
    CREATE INDEX payment_standings_unbooked ON payment_standings (purchase_reference) WHERE unbooked > 0;

    -- How often the provider's list was booked: a list that was read before another one was booked is not.
    ALTER TABLE checkout_sessions ADD COLUMN reversals_seen bigint NOT NULL DEFAULT 0;
  `,
  down: `
    ALTER TABLE checkout_sessions DROP COLUMN reversals_seen;
    DROP TABLE payment_standings;
  `,
};

import type { Migration } from './migration.types.ts';

/**
 * What payments, refunds and disputes moved at a payment provider: with its fees, in its currency and at its dates. `payout_id` and
 * `arrives_at` are known once the money is on its way to the bank. Amounts are in the smallest unit of the currency.
 */
export const paymentMoves: Migration = {
  name: '0051-payment-moves',
  up: `
    CREATE TABLE payment_moves (
      provider text NOT NULL,
      id text NOT NULL,
      account_id uuid NOT NULL REFERENCES accounts,
      payment_id text NOT NULL,
      kind text NOT NULL,
      amount bigint NOT NULL,
      fee bigint NOT NULL,
      currency char(3) NOT NULL,
      exchange_rate double precision,
      created_at timestamptz NOT NULL,
      available_at timestamptz NOT NULL,
      payout_id text,
      arrives_at timestamptz,
      PRIMARY KEY (provider, id)
    );
    CREATE INDEX payment_moves_payment ON payment_moves (provider, payment_id);
    CREATE TABLE payment_moves_seen (
      provider text PRIMARY KEY,
      until timestamptz NOT NULL
    );
  `,
  down: `
    DROP TABLE payment_moves_seen;
    DROP TABLE payment_moves;
  `,
};

import type { SqlStatement } from '../store/statement.ts';

/**
 * $1 provider. The time from which moves must be read: where the last run ended, or else the first credited payment. → since (NULL:
 * nothing has been paid yet), now
 */
export const movesSeen: SqlStatement = {
  name: 'payment_moves_seen',
  text: `SELECT coalesce((SELECT until FROM payment_moves_seen WHERE provider = $1),
                         (SELECT min(created_at) FROM checkout_sessions WHERE provider = $1 AND credited_at IS NOT NULL)) AS since,
                clock_timestamp() AS now`,
};

/** $1 provider, $2 the time until which moves were read. */
export const keepMovesSeen: SqlStatement = {
  name: 'keep_payment_moves_seen',
  text: `INSERT INTO payment_moves_seen VALUES ($1, $2) ON CONFLICT (provider) DO UPDATE SET until = excluded.until`,
};

/** $1 provider, $2 moves as JSON. Stores the moves of our payments. Of a known move, only the payout is updated. → id */
export const keepMoves: SqlStatement = {
  name: 'keep_payment_moves',
  text: `
    INSERT INTO payment_moves (provider, id, account_id, payment_id, kind, amount, fee, currency, exchange_rate, created_at, available_at,
                               payout_id, arrives_at)
    SELECT $1, m.id, s.account_id, m.payment_id, m.kind, m.amount, m.fee, m.currency, m.exchange_rate, m.created_at, m.available_at,
           m.payout_id, m.arrives_at
      FROM jsonb_to_recordset($2::jsonb) m (id text, payment_id text, kind text, amount bigint, fee bigint, currency text,
             exchange_rate double precision, created_at timestamptz, available_at timestamptz, payout_id text, arrives_at timestamptz)
      JOIN checkout_sessions s ON s.provider = $1 AND s.payment_id = m.payment_id
    ON CONFLICT (provider, id) DO UPDATE
      SET payout_id = coalesce(excluded.payout_id, payment_moves.payout_id),
          arrives_at = coalesce(excluded.arrives_at, payment_moves.arrives_at)
    RETURNING id`,
};

/** $1 provider. The time of the oldest move without a payout in the last 90 days. → since (NULL: none) */
export const movesWithoutPayout: SqlStatement = {
  name: 'payment_moves_without_payout',
  text: `SELECT min(created_at) AS since FROM payment_moves
          WHERE provider = $1 AND payout_id IS NULL AND created_at > clock_timestamp() - interval '90 days'`,
};

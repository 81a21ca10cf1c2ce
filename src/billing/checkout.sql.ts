import type { SqlStatement } from '../store/statement.ts';

/**
 * $1 session, $2 account, $3 nano-USD, $4 currency, $5 provider, $6 success URL, $7 cancel URL, $8 expiry.
 * → the row with that id, new or existing
 */
export const insertCheckoutSession: SqlStatement = {
  name: 'insert_checkout_session',
  text: `
    WITH made AS (
      INSERT INTO checkout_sessions
             (id, account_id, amount, currency, provider, url, success_url, cancel_url, expires_at)
      VALUES ($1, $2, $3, $4, $5, '', $6, $7, $8)
      ON CONFLICT (id) DO NOTHING
      RETURNING *)
    SELECT * FROM made UNION ALL SELECT * FROM checkout_sessions WHERE id = $1`,
};

/** $1 session, $2 status, $3 payment status. Moves only forward: open → complete | expired. A credited session stays as it is. */
export const moveCheckoutSession: SqlStatement = {
  name: 'move_checkout_session',
  text: `
    UPDATE checkout_sessions SET status = $2, payment_status = $3
     WHERE id = $1 AND credited_at IS NULL AND (status = 'open' OR $2 = 'complete')`,
};

/** Expires sessions that only we know of. → id of each */
export const expireCheckoutSessions: SqlStatement = {
  name: 'expire_checkout_sessions',
  text: `
    UPDATE checkout_sessions SET status = 'expired'
     WHERE status = 'open' AND expires_at < statement_timestamp() AND (provider = 'test' OR provider_session_id IS NULL)
     RETURNING id`,
};

/**
 * $1 provider, $2 limit. Sessions to ask the provider about because no event came or because their account was erased, in random order: if
 * there are more than one run asks about, none waits behind those that stay as they are.
 */
export const staleCheckoutSessions: SqlStatement = {
  name: 'stale_checkout_sessions',
  text: `
    SELECT s.id, a.erased_at IS NOT NULL AS is_erased
      FROM checkout_sessions s JOIN accounts a ON a.id = s.account_id
     WHERE s.provider = $1 AND s.provider_session_id IS NOT NULL
       AND (s.status = 'open' OR (s.status = 'complete' AND s.payment_status = 'unpaid'))
       AND (s.created_at < statement_timestamp() - interval '10 minutes' OR a.erased_at IS NOT NULL)
     ORDER BY random() LIMIT $2`,
};

import type { SqlStatement } from '../store/statement.ts';

const ALERTS = 'url, credits_low, key_limit_near';

/** $1 account. */
export const findAlerts: SqlStatement = {
  name: 'alerts_find',
  text: `SELECT ${ALERTS} FROM account_alerts WHERE account_id = $1`,
};

/**
 * $1 account, $2 changes: any of url, credits_low, key_limit_near; an absent one stays, null clears it. A changed threshold alerts
 * again, even if the old one already has.
 */
export const changeAlerts: SqlStatement = {
  name: 'alerts_change',
  text: `INSERT INTO account_alerts AS a (account_id, url, credits_low, key_limit_near)
      VALUES ($1, $2::jsonb->>'url', ($2::jsonb->>'credits_low')::bigint, ($2::jsonb->>'key_limit_near')::smallint)
    ON CONFLICT (account_id) DO UPDATE SET
      url = CASE WHEN $2::jsonb ? 'url' THEN excluded.url ELSE a.url END,
      credits_low = CASE WHEN $2::jsonb ? 'credits_low' THEN excluded.credits_low ELSE a.credits_low END,
      key_limit_near = CASE WHEN $2::jsonb ? 'key_limit_near' THEN excluded.key_limit_near ELSE a.key_limit_near END,
      credits_told = a.credits_told
        AND NOT ($2::jsonb ? 'credits_low' AND a.credits_low IS DISTINCT FROM excluded.credits_low),
      seen_seq = -1
    RETURNING ${ALERTS}`,
};

/** $1 maximum number of accounts. → how many were checked */
export const tellAlerts: SqlStatement = {
  name: 'alerts_tell',
  text: 'SELECT tell_alerts($1) AS looked',
};

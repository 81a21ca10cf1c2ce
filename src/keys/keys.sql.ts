import type { SqlStatement } from '../store/statement.ts';

export const findKeyFacts: SqlStatement = {
  name: 'find_key_facts',
  text: `
    SELECT k.hash, k.id, k.account_id, a.name AS account_name, k.role, k.disabled, a.suspended, k.expires_at,
           a.rate_limits AS account_limits, k.rate_limits AS key_limits, a.allowed_models AS account_models, k.allowed_models AS key_models,
           m.id AS member_id, m.role AS member_role, m.email AS member_email,
           CASE WHEN b.debt > 0 THEN 0 ELSE least(b.posted - b.held,
             limit_free(k.limit_nano, k.held, k.limit_reset, k.counted_from, k.spent, k.spent_before, ledger_now())) END AS spendable
      FROM api_keys k JOIN accounts a ON a.id = k.account_id JOIN balances b ON b.account_id = k.account_id
      LEFT JOIN members m ON m.api_key_id = k.id
     WHERE k.hash = ANY ($1::text[]) AND k.deleted_at IS NULL`,
};

/** Skips locked rows: a key that is being charged right now is stamped in the next round, so that no statement waits for another. */
export const markKeysUsed: SqlStatement = {
  name: 'mark_keys_used',
  text: `
    WITH used AS (SELECT * FROM unnest($1::uuid[], $2::timestamptz[]) u (id, at)),
    free AS (SELECT k.id FROM api_keys k WHERE k.id IN (SELECT id FROM used) FOR NO KEY UPDATE SKIP LOCKED)
    UPDATE api_keys k SET last_used_at = greatest(k.last_used_at, used.at)
      FROM free JOIN used USING (id) WHERE k.id = free.id RETURNING k.id`,
};

/** $1 account, $2 key as JSON, $3 act. → its row; none when the account has its maximum number of keys. */
export const createApiKey: SqlStatement = {
  name: 'create_api_key',
  text: `SELECT (created).* FROM (SELECT create_api_key($1, $2::jsonb) AS created FROM act_as($3::jsonb) OFFSET 0) c`,
};

/** $1 key. → is_members: whether a person signs in with it */
export const isMembersKey: SqlStatement = {
  name: 'key_is_members',
  text: 'SELECT EXISTS (SELECT FROM members m WHERE m.api_key_id = $1) AS is_members',
};

/**
 * Deletes keys that expired long ago, and forgets those deleted long ago that have no history. $1 days since the deletion or expiry, $2
 * maximum number of each. → handled: number of keys deleted or examined
 */
export const forgetApiKeys: SqlStatement = {
  name: 'forget_api_keys',
  text: `SELECT forget_api_keys(make_interval(days => $1), $2) AS handled`,
};

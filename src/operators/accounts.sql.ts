import type { SqlStatement } from '../store/statement.ts';

/** Recent charges, from the sums that settlements write: daily sums where they exist, five-minute sums elsewhere. */
const LATELY = `
  LATERAL (
    SELECT coalesce((SELECT sum(u.charge) FROM usage_rollups u
                      WHERE u.account_id = b.account_id AND u.bucket > statement_timestamp() - interval '1 day'), 0) AS usage_24h,
           coalesce((SELECT sum(d.charge) FROM usage_days d
                      WHERE d.account_id = b.account_id AND d.day >= f.first_day AND d.day < f.filled_until), 0)
             + coalesce((SELECT sum(u.charge) FROM usage_rollups u
                          WHERE u.account_id = b.account_id AND u.bucket >= greatest(f.first_day, f.filled_until)), 0) AS usage_30d,
           (SELECT max(k.last_used_at) FROM api_keys k WHERE k.account_id = b.account_id) AS last_used_at
      FROM (SELECT date_trunc('day', statement_timestamp(), 'UTC') - interval '29 days' AS first_day,
                   coalesce((SELECT date_bin('1 day', m.filled_until, 'epoch'::timestamptz) FROM usage_day_marks m WHERE m.account_id = b.account_id), '-infinity') AS filled_until) f
  ) lately`;

const ACCOUNTS = `
  SELECT a.id, a.name, a.suspended, a.allowed_models, a.max_keys, a.billing, a.rate_limits, a.created_at, a.erased_at,
         b.posted, b.used, b.held, b.debt, lately.usage_24h::text, lately.usage_30d::text, lately.last_used_at
    FROM accounts a JOIN balances b ON b.account_id = a.id CROSS JOIN ${LATELY}`;

const WANTED = `($1::text IS NULL OR strpos(lower(a.name), lower($1)) > 0) AND ($2::boolean IS NULL OR a.suspended = $2)`;

/** $1 id. */
export const accountById: SqlStatement = { name: 'account_by_id', text: `${ACCOUNTS} WHERE a.id = $1` };

/**
 * $1 part of the name or NULL, $2 suspended or NULL, $3 limit, $4 only ids below it, NULL = from the newest. Ids are
 * time-ordered.
 */
export const accountsPage: SqlStatement = {
  name: 'accounts_page',
  text: `${ACCOUNTS} WHERE ${WANTED} AND ($4::uuid IS NULL OR a.id < $4::uuid) ORDER BY a.id DESC LIMIT $3`,
};

/** Sorts accounts by a computed number, in descending order. The number is computed for every account. */
const by = (name: string, rank: string): SqlStatement => ({
  name,
  text: `SELECT * FROM (${ACCOUNTS.replace('SELECT ', `SELECT (${rank})::numeric::text AS rank, `)} WHERE ${WANTED}) ranked
     WHERE $4::uuid IS NULL OR (rank::numeric, id) < ($5::numeric, $4::uuid) ORDER BY rank::numeric DESC, id DESC LIMIT $3`,
});

/** $1–$3 as above; $4 id and $5 rank of the last row of the previous page, or NULL. */
export const accountsByBalance: SqlStatement = by('accounts_by_balance', 'b.posted');

/** As above. */
export const accountsByUsage: SqlStatement = by('accounts_by_usage', 'lately.usage_30d');

/** As above; the rank is microseconds, 0 for accounts that were never used. */
export const accountsByLastUse: SqlStatement = by(
  'accounts_by_last_use',
  'coalesce(floor(extract(epoch FROM lately.last_used_at) * 1000000), 0)',
);

/** $1 name. Finds the oldest account with that name. */
export const accountByName: SqlStatement = {
  name: 'account_by_name',
  text: 'SELECT id FROM accounts WHERE name = $1 ORDER BY created_at, id LIMIT 1',
};

export const anyAccount: SqlStatement = { name: 'any_account', text: 'SELECT id FROM accounts LIMIT 1' };

/** $1 account, $2 purchase reference. */
export const purchaseProvider: SqlStatement = {
  name: 'purchase_provider',
  text: 'SELECT provider FROM checkout_sessions WHERE account_id = $1 AND id = $2',
};

/** $1 reference of a reversal. → the part that the balance could not cover, in nano-USD */
export const reversalDebt: SqlStatement = {
  name: 'reversal_debt',
  text: 'SELECT amount - from_balance AS debt FROM payment_reversals WHERE reference = $1',
};

/** $1 account, $2 name of the request. → reference */
export const bookingReference: SqlStatement = {
  name: 'booking_reference',
  text: 'SELECT booking_reference($1, $2) AS reference',
};

import type { SqlStatement } from '../store/statement.ts';

/** $1 array of hold_request as JSON. → id, outcome, granted */
export const reserveHolds: SqlStatement = {
  name: 'ledger_reserve',
  text: 'SELECT id, outcome, granted FROM ledger_reserve($1::jsonb)',
};

/** The same for a small batch, planned once. */
export const reserveFewHolds: SqlStatement = {
  name: 'ledger_reserve_few',
  text: 'SELECT id, outcome, granted FROM ledger_reserve_few($1::jsonb)',
};

/**
 * $1 account, $2 key. → account, key: nano-USD each can spend (key is NULL without a limit), reset: when the limit renews, debt: nano-USD
 * owed. No row when the key no longer exists.
 */
export const spendableFunds: SqlStatement = {
  name: 'ledger_spendable_funds',
  text: `SELECT CASE WHEN b.debt > 0 THEN 0 ELSE b.posted - b.held END AS account,
                limit_free(k.limit_nano, k.held, k.limit_reset, k.counted_from, k.spent, k.spent_before, ledger_now()) AS key,
                k.limit_reset AS reset, b.debt
           FROM balances b JOIN api_keys k ON k.account_id = b.account_id
          WHERE b.account_id = $1 AND k.id = $2`,
};

/** $1 array of hold_settlement as JSON. → id, outcome, charge */
export const settleHolds: SqlStatement = {
  name: 'ledger_settle',
  text: 'SELECT id, outcome, charge FROM ledger_settle($1::jsonb)',
};

/** The same for a small batch, planned once. */
export const settleFewHolds: SqlStatement = {
  name: 'ledger_settle_few',
  text: 'SELECT id, outcome, charge FROM ledger_settle_few($1::jsonb)',
};

/** $1 hold, $2 account, $3 key, $4 nano-USD to add. → total, or NULL when rejected */
export const extendHold: SqlStatement = {
  name: 'ledger_extend',
  text: 'SELECT ledger_extend($1, $2, $3, $4) AS total',
};

/** $1 array of {id, metered} as JSON, $2 lease in ms. */
export const renewHolds: SqlStatement = {
  name: 'ledger_renew',
  text: 'SELECT ledger_renew($1::jsonb, $2) AS renewed',
};

/** $1 limit. Holds of calls whose process stopped renewing them, oldest first. */
export const expiredHolds: SqlStatement = {
  name: 'ledger_expired_holds',
  text: `SELECT id, account_id, api_key_id, amount, metered,
                (extract(epoch FROM ledger_now() - created_at) * 1000)::bigint AS age_ms
           FROM holds WHERE NOT is_task AND expires_at < (SELECT ledger_now()) ORDER BY expires_at LIMIT $1`,
};

/**
 * $1 session, $2 the provider's payment id, $3 description. Marks a session as paid and posts its purchase, both or neither. No row when it
 * is already credited. → outcome
 */
export const creditCheckoutSession: SqlStatement = {
  name: 'credit_checkout_session',
  text: 'SELECT outcome FROM credit_checkout($1, $2, $3) outcome',
};

/** $1 account, $2 reference, $3 signed nano-USD, $4 description, $5 act. → outcome */
export const adjustBalance: SqlStatement = {
  name: 'ledger_adjust',
  text: 'SELECT ledger_adjust($1, $2, $3, $4) AS outcome FROM act_as($5::jsonb)',
};

/** $1 account, $2 reference, $3 nano-USD or NULL for the whole debt, $4 forgiven or paid, $5 description, $6 act. → outcome, amount */
export const clearDebt: SqlStatement = {
  name: 'ledger_clear_debt',
  text: `SELECT (cleared).outcome, (cleared).amount
           FROM (SELECT ledger_clear_debt($1, $2, $3, $4, $5) AS cleared FROM act_as($6::jsonb)) c`,
};

/** $1 account, $2 reference, $3 generation of the charge, $4 nano-USD or NULL for the rest, $5 description, $6 act. */
export const refundCharge: SqlStatement = {
  name: 'ledger_refund_charge',
  text: `SELECT (given).outcome, (given).refunded
           FROM (SELECT ledger_refund_charge($1, $2, $3, $4, $5) AS given FROM act_as($6::jsonb)) g`,
};

/** $1 account, $2 reference, $3 reference of the purchase, $4 nano-USD, $5 description, $6 act. → outcome */
export const reversePayment: SqlStatement = {
  name: 'ledger_reverse_payment',
  text: 'SELECT ledger_reverse_payment($1, $2, $3, $4, $5) AS outcome FROM act_as($6::jsonb)',
};

/** $1 account, $2 reference, $3 reference of the purchase, $4 nano-USD, $5 description, $6 act. → outcome */
export const reinstatePayment: SqlStatement = {
  name: 'ledger_reinstate_payment',
  text: 'SELECT ledger_reinstate_payment($1, $2, $3, $4, $5) AS outcome FROM act_as($6::jsonb)',
};

/**
 * $1 account, $2 reference of the purchase, $3 reversals_seen of its session as read before the provider was queried, $4 reversals as JSON,
 * $5 provider, $6 public id of the session. → outcome (followed, stale), unbooked_nano
 */
export const followPayment: SqlStatement = {
  name: 'ledger_follow_payment',
  text: 'SELECT outcome, unbooked_nano FROM ledger_follow_payment($1, $2, $3, $4::jsonb, $5, $6)',
};

/** $1 id, $2 name. */
export const openAccount: SqlStatement = { name: 'open_account', text: 'SELECT open_account($1, $2)' };

/** $1 id, $2 name, $3 nano-USD, $4 owner key as JSON, $5 act. → opened: false when the account exists; then nothing is written */
export const openCustomer: SqlStatement = {
  name: 'open_customer',
  text: 'SELECT open_customer($1, $2, $3, $4::jsonb) AS opened FROM act_as($5::jsonb)',
};

/** $1 id, $2 changes as JSON, $3 act. → the account's row */
export const changeAccount: SqlStatement = {
  name: 'change_account',
  text: `SELECT (changed).* FROM (SELECT change_account($1, $2::jsonb) AS changed FROM act_as($3::jsonb) OFFSET 0) c`,
};

/** $1 id, $2 act. → erased: false when there is no such account */
export const eraseAccount: SqlStatement = {
  name: 'erase_account',
  text: 'SELECT erase_account($1) AS erased FROM act_as($2::jsonb)',
};

/** $1 account, $2 key, $3 changes as JSON, $4 act. → the key's row, or none when it is deleted or belongs to another account */
export const changeApiKey: SqlStatement = {
  name: 'change_api_key',
  text: `SELECT (changed).* FROM (SELECT change_api_key($1, $2, $3::jsonb) AS changed FROM act_as($4::jsonb) OFFSET 0) c`,
};

/**
 * $1 only accounts above this id or NULL, $2 limit. Accounts with a month that is over and not closed, or with
 * statements that are not final yet, ordered by id.
 */
export const accountsToClose: SqlStatement = {
  name: 'ledger_accounts_to_close',
  text: `SELECT a.id FROM accounts a LEFT JOIN LATERAL
           (SELECT i.period_end FROM invoices i WHERE i.account_id = a.id ORDER BY i.period_start DESC LIMIT 1) i ON true
          WHERE ($1::uuid IS NULL OR a.id > $1)
            AND (coalesce(i.period_end, date_trunc('month', a.created_at, 'UTC')) < date_trunc('month', ledger_now(), 'UTC')
              OR EXISTS (SELECT 1 FROM invoices o WHERE o.account_id = a.id AND o.status = 'open'))
          ORDER BY a.id LIMIT $2`,
};

/** $1 account. → closed: the number of months */
export const closeMonths: SqlStatement = { name: 'close_months', text: 'SELECT close_months($1) AS closed' };

/** $1 account, $2 start of the month, $3 reason, $4 act as JSON. → made: the number of statements, 0 when the month is not closed */
export const reissueStatements: SqlStatement = {
  name: 'reissue_statements',
  text: 'SELECT reissue_statements($1, $2, $3, $4::jsonb) AS made',
};

/** $1 account. Makes the statements of an account that reconciles final. */
export const finalizeInvoices: SqlStatement = {
  name: 'finalize_invoices',
  text: `UPDATE invoices SET status = 'paid' WHERE account_id = $1 AND status = 'open'`,
};

/** $1 months ahead. → made: the number of partitions */
export const createPartitions: SqlStatement = {
  name: 'create_partitions',
  text: `SELECT sum(create_month_partitions(
                  (date_trunc('month', ledger_now() AT TIME ZONE 'UTC') + make_interval(months => n))::date)) AS made
           FROM generate_series(0, $1::integer) n`,
};

/** Adds write-offs older than an hour to write_off_totals. */
export const totalWriteOffs: SqlStatement = { name: 'total_write_offs', text: 'SELECT total_write_offs()' };

import type { Statement } from '../store/statement.ts';

const ACCOUNTS = `
  SELECT a.id, a.name, a.suspended, a.allowed_models, a.max_keys, a.billing, a.rate_limits, a.created_at,
         b.posted, b.used, b.held, b.debt
    FROM accounts a JOIN balances b ON b.account_id = a.id`;

/** $1 id. */
export const accountById: Statement = { name: 'account_by_id', text: `${ACCOUNTS} WHERE a.id = $1` };

/** $1: only ids below it, NULL = from the newest; $2 part of the name or NULL, $3 suspended or NULL, $4 how many. Ids are time-ordered. */
export const accountsPage: Statement = {
  name: 'accounts_page',
  text: `${ACCOUNTS} WHERE ($1::uuid IS NULL OR a.id < $1::uuid)
       AND ($2::text IS NULL OR strpos(lower(a.name), lower($2)) > 0) AND ($3::boolean IS NULL OR a.suspended = $3)
     ORDER BY a.id DESC LIMIT $4`,
};

/** $1 name: the oldest account of that name. */
export const accountByName: Statement = {
  name: 'account_by_name',
  text: 'SELECT id FROM accounts WHERE name = $1 ORDER BY created_at, id LIMIT 1',
};

export const anyAccount: Statement = { name: 'any_account', text: 'SELECT id FROM accounts LIMIT 1' };

/** $1 account, $2 purchase reference. */
export const purchaseProvider: Statement = {
  name: 'purchase_provider',
  text: 'SELECT provider FROM checkout_sessions WHERE account_id = $1 AND id = $2',
};

/** $1 reference of a reversal. → what of it the balance could not give, in nano-USD */
export const reversalDebt: Statement = {
  name: 'reversal_debt',
  text: 'SELECT amount - from_balance AS debt FROM payment_reversals WHERE reference = $1',
};

/** $1 account, $2 name of the request. → reference */
export const bookingReference: Statement = {
  name: 'booking_reference',
  text: 'SELECT booking_reference($1, $2) AS reference',
};

import type { SqlStatement } from '../../store/statement.ts';

/** $1 text in the name, wildcards escaped; $2 limit. Newest first. */
export const accountsNamed: SqlStatement = {
  name: 'search_accounts_named',
  text: `SELECT id, name FROM accounts WHERE name ILIKE '%' || $1 || '%' ORDER BY id DESC LIMIT $2`,
};

/** $1 hash, or the label that stands for the secret in lists; $2 limit. Newest first, including deleted keys. */
export const keysFound: SqlStatement = {
  name: 'search_keys',
  text: `SELECT hash, name, account_id FROM api_keys WHERE hash = $1 OR label = $1 ORDER BY id DESC LIMIT $2`,
};

/**
 * $1 request id, $2 lowest id, $3 upper bound of ids, exclusive, $4–$5 the first and last id derived from the request's id, $6
 * limit. Most generations have one of the derived ids. Others were created within seconds and store the request's id: ids contain
 * their time, so only a few partitions and rows are read and no index is needed.
 */
export const generationsOfRequest: SqlStatement = {
  name: 'search_generations_of_request',
  text: `
    SELECT id, account_id, model FROM generations WHERE request_id = $1 AND id >= $2::uuid AND id < $3::uuid
    UNION SELECT id, account_id, model FROM generations WHERE request_id IS NULL AND id BETWEEN $4::uuid AND $5::uuid
    UNION SELECT id, account_id, model FROM holds WHERE request_id = $1 AND id >= $2::uuid AND id < $3::uuid
    UNION SELECT id, account_id, model FROM holds WHERE request_id IS NULL AND id BETWEEN $4::uuid AND $5::uuid
    ORDER BY id DESC LIMIT $6`,
};

/** $1–$2 the first and last id derived from a request's id, $3 limit. Charges of its generations, which stay when those are archived. */
export const chargesOfRequest: SqlStatement = {
  name: 'search_charges_of_request',
  text: `SELECT reference, account_id, amount FROM ledger_entries
    WHERE type = 'usage_charge' AND reference BETWEEN $1::uuid AND $2::uuid ORDER BY reference DESC LIMIT $3`,
};

/** $1 generation. */
export const generationFound: SqlStatement = {
  name: 'search_generation',
  text: `SELECT id, account_id, model FROM generations WHERE id = $1::uuid
    UNION SELECT id, account_id, model FROM holds WHERE id = $1::uuid LIMIT 1`,
};

/** $1 account. */
export const accountFound: SqlStatement = {
  name: 'search_account',
  text: 'SELECT id, name FROM accounts WHERE id = $1::uuid',
};

/** $1 type, $2 reference. */
export const entryFound: SqlStatement = {
  name: 'search_entry',
  text: `SELECT account_id, amount FROM ledger_entries WHERE type = $1::ledger_entry_type AND reference = $2::uuid`,
};

/** $1 checkout session or NULL, $2 the payment provider's id of a session or of a payment; $3 limit. */
export const checkoutsFound: SqlStatement = {
  name: 'search_checkouts',
  text: `SELECT id, account_id, amount, payment_status FROM checkout_sessions
    WHERE id = $1::uuid OR payment_id = $2 OR provider_session_id = $2 ORDER BY id DESC LIMIT $3`,
};

/** $1 webhook delivery. */
export const deliveryFound: SqlStatement = {
  name: 'search_delivery',
  text: 'SELECT account_id, task_id, event, state FROM webhook_deliveries WHERE id = $1::uuid',
};

/** $1 kind, $2 number. */
export const documentFound: SqlStatement = {
  name: 'search_document',
  text: 'SELECT account_id, issued_at FROM documents WHERE kind = $1 AND number = $2',
};

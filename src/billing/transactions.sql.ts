import type { SqlStatement } from '../store/statement.ts';

/** statement_version: of the statement in force that contains the entry; NULL when that is the first, or when there is none yet. */
const ENTRY = `
  SELECT e.type::text AS type, e.reference, e.seq, e.amount, e.balance_after, e.contra::text AS contra, e.reverses, e.reason_code,
         e.description, e.at, to_char(e.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at_text,
         i.version AS statement_version
    FROM ledger_entries e
    LEFT JOIN invoices i ON i.account_id = $1 AND i.version > 1 AND i.status <> 'void'
         AND i.period_start = date_trunc('month', e.at, 'UTC')`;

/**
 * $1 account, $2 from or NULL, $3 before or NULL, $4–$5 position of the last row (time with µs, seq) or NULL, $6 limit.
 * Comparing (at, seq) selects the rows past a position, because both rise together within an account.
 */
const RANGE = `e.account_id = $1 AND e.at >= coalesce($2::timestamptz, '-infinity') AND e.at < coalesce($3::timestamptz, 'infinity')
     AND (e.at, e.seq) < (coalesce($4::timestamptz, 'infinity'), coalesce($5::bigint, 0))
   ORDER BY e.at DESC, e.seq DESC LIMIT $6`;

/** Entries of all types. */
export const transactionsPage: SqlStatement = { name: 'transactions_page', text: `${ENTRY} WHERE ${RANGE}` };

/** Entries of one type each, as a literal: the planner must see which index covers it. */
export const transactionsPageByType: Readonly<Record<string, SqlStatement>> = Object.fromEntries(
  ['credit_purchase', 'usage_charge', 'refund', 'adjustment'].map((type) => [
    type,
    { name: `transactions_page_${type}`, text: `${ENTRY} WHERE e.type = '${type}' AND ${RANGE}` },
  ]),
);

/** Parameters as above; $7 key, $8 type or NULL. */
export const transactionsPageByKey: SqlStatement = {
  name: 'transactions_page_by_key',
  text: `${ENTRY} WHERE e.api_key_id = $7 AND ($8::text IS NULL OR e.type::text = $8) AND ${RANGE}`,
};

/** $1 account, $2 reference, $3 type. */
export const transactionByReference: SqlStatement = {
  name: 'transaction_by_reference',
  text: `${ENTRY} WHERE e.account_id = $1 AND e.reference = $2 AND e.type = $3::ledger_entry_type`,
};

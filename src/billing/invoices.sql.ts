import type { Statement } from '../store/statement.ts';

/** $1 account, $2 only before this start or NULL, $3 status or NULL, $4–$5 overlapping period or NULL, $6 how many. */
export const closedInvoices: Statement = {
  name: 'closed_invoices',
  text: `
    SELECT period_start, period_end, status, opening, purchases, usage, refunds, adjustments, closing
      FROM invoices
     WHERE account_id = $1 AND period_start < coalesce($2::timestamptz, 'infinity')
       AND ($3::text IS NULL OR status = $3)
       AND period_end > coalesce($4::timestamptz, '-infinity') AND period_start < coalesce($5::timestamptz, 'infinity')
     ORDER BY period_start DESC LIMIT $6`,
};

/** $1 account, $2 start of the month. */
export const closedInvoice: Statement = {
  name: 'closed_invoice',
  text: `
    SELECT period_start, period_end, status, opening, purchases, usage, refunds, adjustments, closing
      FROM invoices WHERE account_id = $1 AND period_start = $2`,
};

/** $1 account. The month it was opened in and the first month that is not closed. */
export const statementMonths: Statement = {
  name: 'statement_months',
  text: `
    SELECT date_trunc('month', a.created_at, 'UTC') AS first_month,
           coalesce((SELECT max(i.period_end) FROM invoices i WHERE i.account_id = a.id),
                    date_trunc('month', a.created_at, 'UTC')) AS first_unclosed
      FROM accounts a WHERE a.id = $1`,
};

/**
 * The statement of a month that is not closed, out of one snapshot. $1 account, $2 start, $3 end. Usage is what the
 * other movements leave over, so the many usage entries of a month need not be read: the identity holds by itself, and
 * the closing balance is the ledger's own.
 */
export const draftInvoice: Statement = {
  name: 'draft_invoice',
  text: `
    WITH opening AS (
      SELECT coalesce((SELECT e.balance_after FROM ledger_entries e WHERE e.account_id = $1 AND e.at < $2
                        ORDER BY e.at DESC, e.seq DESC LIMIT 1), 0) AS amount),
    closing AS (
      SELECT coalesce((SELECT e.balance_after FROM ledger_entries e WHERE e.account_id = $1 AND e.at < $3
                        ORDER BY e.at DESC, e.seq DESC LIMIT 1), 0) AS amount),
    other AS (
      SELECT coalesce(sum(e.amount) FILTER (WHERE e.type = 'credit_purchase'), 0) AS purchases,
             coalesce(sum(e.amount) FILTER (WHERE e.type = 'refund'), 0) AS refunds,
             coalesce(sum(e.amount) FILTER (WHERE e.type = 'adjustment'), 0) AS adjustments
        FROM ledger_entries e
       WHERE e.account_id = $1 AND e.type <> 'usage_charge' AND e.at >= $2 AND e.at < $3)
    SELECT o.amount AS opening, x.purchases, x.refunds, x.adjustments, c.amount AS closing,
           o.amount + x.purchases + x.refunds + x.adjustments - c.amount AS usage
      FROM opening o, closing c, other x`,
};

/** Lines of a statement, oldest first. $1 account, $2 start, $3 end, $4–$5 position of the last line or NULL, $6 how many. */
export const statementLines: Statement = {
  name: 'statement_lines',
  text: `
    SELECT e.type::text AS type, e.reference, e.seq, e.amount, e.balance_after, e.contra::text AS contra, e.reverses,
           e.description, e.at, to_char(e.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at_text
      FROM ledger_entries e
     WHERE e.account_id = $1 AND e.at >= $2 AND e.at < $3
       AND (e.at, e.seq) > (coalesce($4::timestamptz, '-infinity'), coalesce($5::bigint, 0))
     ORDER BY e.at, e.seq LIMIT $6`,
};

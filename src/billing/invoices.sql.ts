import type { SqlStatement } from '../store/statement.ts';

const COLUMNS = `id, encode(digest, 'hex') AS digest, period_start, period_end, version, status, opening, purchases, usage, refunds, adjustments, closing,
           opening_seq, closing_seq, true AS is_over`;

/**
 * $1 account, $2–$3 month and version of the last row or NULL, $4 status or NULL (statements in force),
 * $5–$6 overlapping period or NULL, $7 limit.
 */
export const closedInvoices: SqlStatement = {
  name: 'closed_invoices',
  text: `
    SELECT ${COLUMNS} FROM invoices
     WHERE account_id = $1 AND (period_start, version) < (coalesce($2::timestamptz, 'infinity'), coalesce($3::integer, 0))
       AND CASE WHEN $4::text IS NULL THEN status <> 'void' ELSE status = $4 END
       AND period_end > coalesce($5::timestamptz, '-infinity') AND period_start < coalesce($6::timestamptz, 'infinity')
     ORDER BY period_start DESC, version DESC LIMIT $7`,
};

/** $1 account, $2 start of the month, $3 version. */
export const closedInvoice: SqlStatement = {
  name: 'closed_invoice',
  text: `SELECT ${COLUMNS} FROM invoices WHERE account_id = $1 AND period_start = $2 AND version = $3`,
};

/** $1 account. All its statements, with the reason they were reissued, newest first. */
export const allStatements: SqlStatement = {
  name: 'all_statements',
  text: `SELECT i.*, d.number::integer AS number, encode(d.pdf_sha256, 'hex') AS pdf_sha256, encode(d.csv_sha256, 'hex') AS csv_sha256
     FROM (SELECT ${COLUMNS}, reissue_reason, reissued_by, created_at FROM invoices WHERE account_id = $1) i
     LEFT JOIN documents d ON d.id = i.id ORDER BY i.period_start DESC, i.version DESC`,
};

/** $1 account. Statements that are closed but not final, oldest first. */
export const openInvoices: SqlStatement = {
  name: 'open_invoices',
  text: `SELECT ${COLUMNS} FROM invoices WHERE account_id = $1 AND status = 'open' ORDER BY period_start`,
};

/** $1 account. The keys of all statements ever made of it, including void ones. */
export const statementVersions: SqlStatement = {
  name: 'statement_versions',
  text: 'SELECT period_start, version FROM invoices WHERE account_id = $1 ORDER BY period_start, version',
};

/**
 * $1 account. The first month that is not closed, and the latest time an entry can have: the ledger's time, or that of the last entry
 * when the clock was set back behind it.
 */
export const statementMonths: SqlStatement = {
  name: 'statement_months',
  text: `
    SELECT coalesce((SELECT max(i.period_end) FROM invoices i WHERE i.account_id = a.id),
                    date_trunc('month', a.created_at, 'UTC')) AS first_unclosed,
           greatest(ledger_now(), b.last_at) AS now
      FROM accounts a JOIN balances b ON b.account_id = a.id WHERE a.id = $1`,
};

/**
 * $1 account, $2 start, $3 end. The statement of a month that is not closed, from one snapshot. Usage is computed as what the
 * other movements leave over, so the many usage entries of a month need not be read: the identity holds by construction, and
 * the closing balance is the ledger's own.
 */
export const draftInvoice: SqlStatement = {
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
           o.amount + x.purchases + x.refunds + x.adjustments - c.amount AS usage, ledger_now() >= $3 AS is_over
      FROM opening o, closing c, other x`,
};

/**
 * $1 account, $2 start, $3 end, $4–$5 position of the last line or NULL, $6 limit, $7–$8 seq before the first line and seq of the last
 * one, NULL for a draft. Lines of a statement, oldest first. A void statement keeps the lines it had.
 */
export const statementLines: SqlStatement = {
  name: 'statement_lines',
  text: `
    SELECT e.type::text AS type, e.reference, e.seq, e.amount, e.balance_after, e.contra::text AS contra, e.reverses, e.reason_code,
           e.description, e.at, to_char(e.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at_text,
           NULL::integer AS statement_version
      FROM ledger_entries e
     WHERE e.account_id = $1 AND e.at >= $2 AND e.at < $3
       AND (e.at, e.seq) > (coalesce($4::timestamptz, '-infinity'), coalesce($5::bigint, 0))
       AND ($7::bigint IS NULL OR e.seq > $7) AND ($8::bigint IS NULL OR e.seq <= $8)
     ORDER BY e.at, e.seq LIMIT $6`,
};

/** Maximum number of named sums of each kind; the rest is one line without a name. */
const SUMS_NAMED_MAX = 100;

/**
 * $1 account, $2 start, $3 end, $4–$5 seq before the first line and seq of the last one, NULL for a draft. Charges of a statement by day,
 * by model and by key. → kind, name (NULL: all others), calls, amount
 */
export const statementSums: SqlStatement = {
  name: 'statement_sums',
  text: `
    WITH sums AS (
      SELECT CASE WHEN grouping(c.day) = 0 THEN 'day' WHEN grouping(c.model) = 0 THEN 'model' ELSE 'key' END AS kind,
             coalesce(c.day, c.model, c.api_key_id::text) AS name, c.api_key_id, count(*) AS calls, -sum(c.amount) AS amount
        FROM (SELECT e.amount, to_char(e.at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, g.model, e.api_key_id
                FROM ledger_entries e JOIN generations g ON g.id = e.reference
               WHERE e.account_id = $1 AND e.type = 'usage_charge' AND e.at >= $2 AND e.at < $3
                 AND ($4::bigint IS NULL OR e.seq > $4) AND ($5::bigint IS NULL OR e.seq <= $5)) c
       GROUP BY GROUPING SETS ((c.day), (c.model), (c.api_key_id))),
    placed AS (
      SELECT s.*, row_number() OVER (PARTITION BY s.kind ORDER BY CASE WHEN s.kind = 'day' THEN s.name END, s.amount DESC, s.name) AS place
        FROM sums s)
    SELECT p.kind, CASE WHEN p.place <= ${SUMS_NAMED_MAX} THEN coalesce(k.name || ' (' || k.label || ')', p.name) END AS name,
           sum(p.calls)::text AS calls, sum(p.amount)::text AS amount
      FROM placed p LEFT JOIN api_keys k ON k.id = p.api_key_id
     GROUP BY p.kind, least(p.place, ${SUMS_NAMED_MAX + 1}), 2
     ORDER BY p.kind, least(p.place, ${SUMS_NAMED_MAX + 1})`,
};

/** $1 account, $2 end of the period, $3 seq of the last line or NULL. → owed: for reversed payments at that time */
export const owedAt: SqlStatement = {
  name: 'owed_at',
  text: `SELECT coalesce(sum(e.amount), 0)::text AS owed FROM ledger_entries e
     WHERE e.account_id = $1 AND e.type = 'adjustment' AND e.contra = 'receivable' AND e.at < $2
       AND ($3::bigint IS NULL OR e.seq <= $3)`,
};

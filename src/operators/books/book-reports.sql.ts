import type { SqlStatement } from '../../store/statement.ts';

/** $1 instant. Balances and receivables of all accounts at that time, taken from each account's last entry before it. */
export const deferredRevenue: SqlStatement = {
  name: 'deferred_revenue',
  text: `
    SELECT coalesce(sum(l.balance_after), 0)::text AS credits, count(*) FILTER (WHERE l.balance_after <> 0)::integer AS accounts,
           coalesce((SELECT sum(r.amount) FROM ledger_entries r
                      WHERE r.type = 'adjustment' AND r.contra = 'receivable' AND r.at < $1), 0)::text AS receivable
      FROM accounts a CROSS JOIN LATERAL
        (SELECT e.balance_after FROM ledger_entries e WHERE e.account_id = a.id AND e.at < $1
          ORDER BY e.at DESC, e.seq DESC LIMIT 1) l`,
};

/** $1 instant, $2 only accounts above this or NULL, $3 limit. Repayments are applied to the oldest debt first. */
export const agedDebts: SqlStatement = {
  name: 'aged_debts',
  text: `
    WITH moved AS (
      SELECT e.account_id, e.at, e.seq, e.amount FROM ledger_entries e
       WHERE e.type = 'adjustment' AND e.contra = 'receivable' AND e.at < $1::timestamptz AND ($2::uuid IS NULL OR e.account_id > $2)),
    repaid AS (SELECT account_id, coalesce(-sum(amount) FILTER (WHERE amount < 0), 0) AS amount FROM moved GROUP BY 1),
    debts AS (
      SELECT account_id, at, amount, sum(amount) OVER (PARTITION BY account_id ORDER BY seq) AS through FROM moved WHERE amount > 0),
    owed AS (
      SELECT d.account_id, d.at, least(d.amount, d.through - r.amount) AS amount, $1::timestamptz - d.at AS age
        FROM debts d JOIN repaid r USING (account_id) WHERE d.through > r.amount)
    SELECT o.account_id, a.name, min(o.at) AS oldest_at, sum(o.amount)::text AS owed,
           coalesce(sum(o.amount) FILTER (WHERE o.age < '30 days'), 0)::text AS under_30_days,
           coalesce(sum(o.amount) FILTER (WHERE o.age >= '30 days' AND o.age < '60 days'), 0)::text AS under_60_days,
           coalesce(sum(o.amount) FILTER (WHERE o.age >= '60 days' AND o.age < '90 days'), 0)::text AS under_90_days,
           coalesce(sum(o.amount) FILTER (WHERE o.age >= '90 days'), 0)::text AS older
      FROM owed o JOIN accounts a ON a.id = o.account_id GROUP BY 1, 2 ORDER BY 1 LIMIT $3`,
};

/** The groups of a call: empty where not grouped, or where a refunded call is archived. */
const MARGIN_GROUPS = `
             ARRAY[CASE WHEN $5::boolean THEN coalesce(g.model, 'calls that are archived') ELSE '' END,
                   CASE WHEN $6::boolean THEN coalesce(g.endpoint, '') ELSE '' END,
                   CASE WHEN $7::boolean THEN coalesce(g.provider, '') ELSE '' END,
                   CASE WHEN $8::boolean THEN coalesce(g.account_id::text, '') ELSE '' END] AS groups`;

/**
 * $1 start, $2 end, $3 lowest id of a call that can have ended since the start, $4 length of the periods as date_trunc names it,
 * NULL = one period; $5 by model?, $6 by endpoint?, $7 by provider?, $8 by account?, $9 limit. Calls count in the period they
 * ended in, refunds in the period they were booked in. A call that no provider answered has no cost, so none is missing.
 */
export const marginRows: SqlStatement = {
  name: 'margin_rows',
  text: `
    WITH calls AS (
      SELECT coalesce(date_trunc($4::text, g.completed_at, 'UTC'), $1::timestamptz) AS period, ${MARGIN_GROUPS}, count(*) AS calls,
             count(*) FILTER (WHERE g.status = 'failed') AS failed_calls, sum(g.charge) AS charged,
             coalesce(sum(g.provider_cost), 0) AS provider_cost,
             count(*) FILTER (WHERE g.provider_cost IS NULL AND (g.provider IS NOT NULL OR g.charge > 0)) AS calls_without_cost,
             coalesce(sum(g.charge) FILTER (WHERE g.provider_cost IS NULL), 0) AS charged_without_cost
        FROM generations g WHERE g.id >= $3 AND g.completed_at >= $1 AND g.completed_at < $2 GROUP BY 1, 2),
    refunds AS (
      SELECT coalesce(date_trunc($4::text, e.at, 'UTC'), $1::timestamptz) AS period, ${MARGIN_GROUPS}, sum(e.amount) AS refunded,
             coalesce(sum(e.amount) FILTER (WHERE g.provider_cost IS NULL), 0) AS refunded_without_cost
        FROM ledger_entries e LEFT JOIN generations g ON g.id = e.reverses
       WHERE e.type = 'refund' AND e.contra = 'revenue' AND e.at >= $1 AND e.at < $2 GROUP BY 1, 2)
    SELECT to_char(period AT TIME ZONE 'UTC', 'YYYY-MM') AS month, greatest(period, $1::timestamptz) AS period_start,
           nullif(groups[1], '') AS model, nullif(groups[2], '') AS endpoint, nullif(groups[3], '') AS provider,
           nullif(groups[4], '') AS account_id, coalesce(c.calls, 0)::integer AS calls,
           coalesce(c.failed_calls, 0)::integer AS failed_calls, coalesce(c.calls_without_cost, 0)::integer AS calls_without_cost,
           coalesce(c.charged_without_cost, 0)::text AS charged_without_cost,
           coalesce(c.charged, 0)::text AS charged, coalesce(r.refunded, 0)::text AS refunded,
           coalesce(r.refunded_without_cost, 0)::text AS refunded_without_cost,
           coalesce(c.provider_cost, 0)::text AS provider_cost,
           (coalesce(c.charged, 0) - coalesce(r.refunded, 0) - coalesce(c.provider_cost, 0))::text AS margin
      FROM calls c FULL JOIN refunds r USING (period, groups) ORDER BY period, groups LIMIT $9`,
};

/** $1 start, $2 end. → month (YYYY-MM) whose calls exist only in an archive file */
export const archivedMonths: SqlStatement = {
  name: 'margin_archived_months',
  text: `SELECT to_char(month_start AT TIME ZONE 'UTC', 'YYYY-MM') AS month FROM call_archives
          WHERE dropped_at IS NOT NULL AND month_end > $1 AND month_start < $2 ORDER BY 1`,
};

/** $1 start, $2 end. What was delivered but not charged, and what was owed but forgiven. */
export const writeOffs: SqlStatement = {
  name: 'write_offs_by_month',
  text: `
    SELECT to_char(date_trunc('month', w.at, 'UTC') AT TIME ZONE 'UTC', 'YYYY-MM') AS month, w.reason, count(*)::integer AS count,
           sum(w.amount)::text AS amount
      FROM (SELECT at, reason, amount FROM write_offs
            UNION ALL SELECT at, 'debt_forgiven', amount FROM ledger_entries WHERE type = 'adjustment' AND contra = 'write_off') w
     WHERE w.at >= $1 AND w.at < $2 GROUP BY 1, 2 ORDER BY 1, 2`,
};

/**
 * $1 start, $2 end, $3 only payments above this or NULL, $4 limit. Money that moved outside the ledger, grouped by payment; a
 * bank payment is a group of its own. Includes what the provider reports as moved, and when it reaches the bank.
 */
export const payouts: SqlStatement = {
  name: 'payouts',
  text: `
    SELECT p.*, (SELECT coalesce(jsonb_agg(to_jsonb(m) - '{provider,account_id,payment_id}'::text[] ORDER BY m.created_at, m.id), '[]')
                   FROM payment_moves m WHERE m.provider = p.provider AND m.payment_id = p.payment_id) AS moves
      FROM (
    SELECT coalesce(s.id, e.reference) AS id, s.id IS NOT NULL AS has_session, coalesce(s.provider, 'bank') AS provider, s.payment_id,
           e.account_id, max(e.at) AS last_at,
           coalesce(sum(e.amount) FILTER (WHERE e.amount > 0 AND e.type = 'credit_purchase' OR s.id IS NULL), 0)::text AS received,
           coalesce(-sum(e.amount) FILTER (WHERE e.type = 'refund'), 0)::text AS taken_back,
           coalesce(sum(e.amount) FILTER (WHERE e.type = 'adjustment' AND s.id IS NOT NULL), 0)::text AS given_back,
           sum(e.amount)::text AS net
      FROM ledger_entries e LEFT JOIN checkout_sessions s ON s.id = coalesce(e.reverses, e.reference)
     WHERE e.contra = 'cash_clearing' AND e.type <> 'usage_charge' AND e.at >= $1 AND e.at < $2
       AND ($3::uuid IS NULL OR coalesce(s.id, e.reference) > $3)
     GROUP BY 1, 2, 3, 4, 5 ORDER BY 1 LIMIT $4) p ORDER BY p.id`,
};

/** $1 only accounts above this or NULL, $2 limit. */
export const accountsForCredits: SqlStatement = {
  name: 'accounts_for_credits',
  text: 'SELECT id, name FROM accounts WHERE $1::uuid IS NULL OR id > $1 ORDER BY id LIMIT $2',
};

/**
 * $1 account, $2 end, $3 start. The movements in order, with consecutive charges summed: how charges are split does not change
 * which credits they use. → contra, amount, is_before (before the start)
 */
export const creditMovements: SqlStatement = {
  name: 'credit_movements',
  text: `
    SELECT contra::text AS contra, is_before, sum(amount)::text AS amount FROM (
      SELECT e.seq, e.contra, e.amount, e.at < $3 AS is_before,
             CASE WHEN e.type = 'usage_charge' THEN 0 ELSE e.seq END AS own,
             count(*) FILTER (WHERE e.type <> 'usage_charge') OVER (ORDER BY e.seq) AS block
        FROM ledger_entries e WHERE e.account_id = $1 AND e.at < $2) m
     GROUP BY block, own, contra, is_before ORDER BY min(seq)`,
};

/**
 * $1 model or NULL, $2 instant or NULL, $3 only before this row or NULL, $4 limit. With an instant: the period that contains it.
 */
export const pricePeriods: SqlStatement = {
  name: 'price_periods',
  text: `
    SELECT p.id::text AS id, p.model, p.price_version, v.pricing, p.starts_at, p.ends_at, p.actor
      FROM (SELECT q.*, lead(q.starts_at) OVER (PARTITION BY q.model ORDER BY q.id) AS ends_at FROM price_periods q
             WHERE $1::text IS NULL OR q.model = $1) p
      LEFT JOIN price_versions v ON v.id = p.price_version
     WHERE ($2::timestamptz IS NULL OR (p.starts_at <= $2 AND (p.ends_at IS NULL OR p.ends_at > $2)))
       AND ($3::bigint IS NULL OR p.id < $3) ORDER BY p.id DESC LIMIT $4`,
};

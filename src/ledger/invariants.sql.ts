import type { SqlStatement } from '../store/statement.ts';
import { ROLLUPS_UNLIKE_CALLS, TOTALS_UNLIKE_HOURS, unlikeRollups } from './rollup-invariants.sql.ts';

/** A query that returns no rows while the books are right. $1: one account's id, or NULL for all. */
export interface Invariant extends SqlStatement {
  /** What holds while no row comes back. */
  readonly claim: string;
  /**
   * How a nightly proof runs it: `whole` reads the current state, not history; `new` takes a start time as $2, or NULL for all of history.
   * For invariants without it, new rows are proven in another way.
   */
  readonly nightly?: 'whole' | 'new';
}

const LINE_SUM = `(SELECT coalesce(sum(value::bigint), 0) FROM jsonb_each_text(g.lines))`;

/** The part of I4 that does not need history. */
export const NEVER_OVERSPENT = `SELECT b.account_id::text AS object, 'posted ' || b.posted || ' held ' || b.held AS detail FROM balances b
     WHERE ($1::uuid IS NULL OR b.account_id = $1) AND (b.held < 0 OR b.posted < b.held)
    UNION ALL
    SELECT k.id::text, 'spent ' || (k.spent - k.spent_before) || ' held ' || k.held || ' cap ' || k.cap_nano FROM api_keys k
     WHERE ($1::uuid IS NULL OR k.account_id = $1) AND k.spent - k.spent_before + k.held > k.cap_nano`;

/** The part of I16 about seals other than those of entries. */
export const STATEMENTS_AND_AUDIT_AS_SEALED = `SELECT i.id::text AS object, 'statement of ' || i.period_start AS detail FROM invoices i
      LEFT JOIN ledger_seals d ON d.account_id = i.account_id AND d.seq = i.closing_seq
     WHERE ($1::uuid IS NULL OR i.account_id = $1) AND i.digest IS NOT NULL AND i.digest IS DISTINCT FROM d.digest
    UNION ALL
    SELECT 'audit ' || s.audit_id, CASE WHEN s.id IS NULL THEN 'is gone' ELSE 'was changed' END
      FROM (SELECT d.*, lag(d.digest, 1, ''::bytea) OVER w AS digest_before, lag(d.position, 1, 0::bigint) OVER w AS position_before,
                   a.id, ROW(a.*)::audit_log AS row
              FROM audit_seals d LEFT JOIN audit_log a ON a.id = d.audit_id
            WINDOW w AS (ORDER BY d.position)) s
     WHERE $1::uuid IS NULL
       AND (s.id IS NULL OR s.position <> s.position_before + 1 OR s.digest <> audit_digest(s.digest_before, s.row))`;

/** I1–I13 of the design and the further promises of this ledger. Each has been seen to return rows for a seeded corruption. */
export const INVARIANTS: readonly Invariant[] = [
  {
    name: 'invariant_posted_is_sum_of_entries',
    claim: 'I1: the entries of an account add up to its balance and its seq',
    text: `SELECT b.account_id::text AS object, 'posted ' || b.posted || ' seq ' || b.seq AS detail
      FROM balances b LEFT JOIN (SELECT account_id, sum(amount) AS total, count(*) AS entries FROM ledger_entries
        WHERE $1::uuid IS NULL OR account_id = $1 GROUP BY 1) e USING (account_id)
     WHERE ($1::uuid IS NULL OR b.account_id = $1)
       AND (b.posted <> coalesce(e.total, 0) OR b.seq <> coalesce(e.entries, 0))`,
  },
  {
    name: 'invariant_held_is_sum_of_holds',
    nightly: 'whole',
    claim: 'I2: held money is the sum of the open holds, for the account and for each key',
    text: `SELECT b.account_id::text AS object, 'held ' || b.held AS detail
      FROM balances b LEFT JOIN (SELECT account_id, sum(amount) AS total FROM holds GROUP BY 1) h USING (account_id)
     WHERE ($1::uuid IS NULL OR b.account_id = $1) AND b.held <> coalesce(h.total, 0)
    UNION ALL
    SELECT k.id::text, 'key held ' || k.held
      FROM api_keys k LEFT JOIN (SELECT account_id, api_key_id, sum(amount) AS total FROM holds GROUP BY 1, 2) h
        ON h.api_key_id = k.id AND h.account_id = k.account_id
     WHERE ($1::uuid IS NULL OR k.account_id = $1) AND k.held <> coalesce(h.total, 0)`,
  },
  {
    name: 'invariant_key_spent_is_sum_of_entries',
    claim: "I3: a key's spending is its charges less their refunds",
    text: `SELECT k.id::text AS object, 'spent ' || k.spent AS detail
      FROM api_keys k LEFT JOIN (SELECT account_id, api_key_id, -sum(amount) AS total FROM ledger_entries
        WHERE api_key_id IS NOT NULL AND ($1::uuid IS NULL OR account_id = $1) GROUP BY 1, 2) e
        ON e.api_key_id = k.id AND e.account_id = k.account_id
     WHERE ($1::uuid IS NULL OR k.account_id = $1) AND k.spent <> coalesce(e.total, 0)`,
  },
  {
    name: 'invariant_never_overspent',
    claim: 'I4: no balance is held beyond its amount, no key beyond its limit, and usage is what was charged',
    text: `${NEVER_OVERSPENT}
    UNION ALL
    SELECT b.account_id::text, 'used ' || b.used FROM balances b
      LEFT JOIN (SELECT account_id, -sum(amount) AS total FROM ledger_entries
        WHERE contra = 'revenue' AND ($1::uuid IS NULL OR account_id = $1) GROUP BY 1) e USING (account_id)
     WHERE ($1::uuid IS NULL OR b.account_id = $1) AND b.used <> coalesce(e.total, 0)`,
  },
  {
    name: 'invariant_chain_is_gapless',
    claim: 'I5: entries form a gapless chain with a running balance and a time that never goes back',
    text: `SELECT c.account_id::text AS object, 'seq ' || c.seq AS detail FROM (
        SELECT account_id, seq, amount, balance_after, at, lag(balance_after, 1, 0::bigint) OVER w AS balance_before,
               lag(seq, 1, 0::bigint) OVER w AS seq_before, lag(at) OVER w AS at_before
          FROM ledger_entries WHERE $1::uuid IS NULL OR account_id = $1
        WINDOW w AS (PARTITION BY account_id ORDER BY seq)) c
     WHERE c.balance_after - c.amount <> c.balance_before OR c.seq <> c.seq_before + 1 OR c.at < c.at_before`,
  },
  {
    name: 'invariant_charge_has_generation',
    claim: 'I6: each charged generation has a usage entry of the same amount, and vice versa',
    text: `SELECT coalesce(g.id, e.reference)::text AS object, 'charge ' || coalesce(g.charge, 0) AS detail
      FROM (SELECT * FROM generations WHERE charge > 0 AND ($1::uuid IS NULL OR account_id = $1)) g
      FULL JOIN (SELECT * FROM ledger_entries WHERE type = 'usage_charge' AND ($1::uuid IS NULL OR account_id = $1)) e
        ON e.reference = g.id AND e.account_id = g.account_id
     WHERE (g.id IS NULL AND NOT call_is_archived(e.reference)) OR e.reference IS NULL OR -e.amount <> g.charge
        OR e.api_key_id <> g.api_key_id`,
  },
  {
    name: 'invariant_task_and_hold_end_together',
    nightly: 'new',
    claim:
      'I7: an open task has an open hold; an ended task has none, and its generation has the same outcome',
    text: `SELECT t.id::text AS object, t.state AS detail
      FROM tasks t LEFT JOIN holds h ON h.id = t.id AND h.account_id = t.account_id
      LEFT JOIN generations g ON g.id = t.id AND g.account_id = t.account_id
     WHERE ($1::uuid IS NULL OR t.account_id = $1)
       AND ($2::timestamptz IS NULL OR t.completed_at IS NULL OR t.completed_at >= $2)
       AND ((t.completed_at IS NULL) <> (h.id IS NOT NULL) OR (t.completed_at IS NULL) <> (g.id IS NULL)
         OR (g.id IS NOT NULL AND t.state <> CASE g.status WHEN 'completed' THEN 'succeeded' WHEN 'failed' THEN 'failed'
               ELSE 'canceled' END)
         OR (t.state <> 'succeeded' AND g.charge > 0) OR (t.state = 'succeeded' AND g.charge <> t.charge))`,
  },
  {
    name: 'invariant_no_orphan_hold',
    nightly: 'whole',
    claim:
      'I8: no hold of a call outlives its lease by more than a minute, and none exists beside its generation',
    text: `SELECT h.id::text AS object, 'expired ' || h.expires_at AS detail FROM holds h
     WHERE ($1::uuid IS NULL OR h.account_id = $1) AND NOT h.is_task AND h.expires_at < ledger_now() - interval '60 s'
    UNION ALL
    SELECT h.id::text, 'hold and generation' FROM holds h JOIN generations g USING (id, account_id)
     WHERE $1::uuid IS NULL OR h.account_id = $1`,
  },
  {
    name: 'invariant_paid_session_is_credited_once',
    nightly: 'whole',
    claim: 'I9: a credited checkout session is paid and has exactly one purchase of its amount',
    text: `SELECT s.id::text AS object, s.payment_status AS detail
      FROM checkout_sessions s LEFT JOIN ledger_entries e
        ON e.reference = s.id AND e.type = 'credit_purchase' AND e.account_id = s.account_id
     WHERE ($1::uuid IS NULL OR s.account_id = $1)
       AND ((s.credited_at IS NOT NULL) <> (e.reference IS NOT NULL)
         OR (e.reference IS NOT NULL AND (e.amount <> s.amount OR s.payment_status <> 'paid')))`,
  },
  {
    name: 'invariant_refunds_within_charge',
    nightly: 'whole',
    claim:
      'I10: refunds never exceed their charge, reversals never their purchase, reinstatements never their reversals, and debt is what the entries say is owed',
    text: `SELECT r.reverses::text AS object, 'refunded ' || sum(r.amount) AS detail
      FROM ledger_entries r LEFT JOIN ledger_entries c
        ON c.reference = r.reverses AND c.type = 'usage_charge' AND c.account_id = r.account_id
     WHERE r.type = 'refund' AND r.contra = 'revenue' AND ($1::uuid IS NULL OR r.account_id = $1)
     GROUP BY r.reverses, c.amount HAVING c.amount IS NULL OR sum(r.amount) > -c.amount
    UNION ALL
    SELECT r.purchase_reference::text, 'reversed ' || sum(r.amount)
      FROM (SELECT account_id, purchase_reference, amount FROM payment_reversals
            UNION ALL SELECT account_id, purchase_reference, -amount FROM payment_reinstatements) r
      LEFT JOIN ledger_entries p
        ON p.reference = r.purchase_reference AND p.type = 'credit_purchase' AND p.account_id = r.account_id
     WHERE $1::uuid IS NULL OR r.account_id = $1
     GROUP BY r.purchase_reference, p.amount
    HAVING p.amount IS NULL OR sum(r.amount) NOT BETWEEN 0 AND p.amount
    UNION ALL
    SELECT r.reference::text, 'reversal of ' || r.amount
      FROM payment_reversals r LEFT JOIN ledger_entries e
        ON e.reference = r.reference AND e.type = 'refund' AND e.account_id = r.account_id
     WHERE ($1::uuid IS NULL OR r.account_id = $1) AND -coalesce(e.amount, 0) NOT IN (r.amount, r.from_balance)
    UNION ALL
    SELECT i.reference::text, 'reinstatement of ' || i.amount
      FROM payment_reinstatements i LEFT JOIN ledger_entries e
        ON e.reference = i.reference AND e.type = 'adjustment' AND e.account_id = i.account_id
     WHERE ($1::uuid IS NULL OR i.account_id = $1) AND coalesce(e.amount, 0) NOT IN (i.amount, i.to_balance)
    UNION ALL
    SELECT b.account_id::text, 'debt ' || b.debt FROM balances b
      LEFT JOIN (SELECT account_id, sum(amount) AS owed FROM ledger_entries
        WHERE type = 'adjustment' AND contra = 'receivable' AND ($1::uuid IS NULL OR account_id = $1) GROUP BY 1) r
        USING (account_id)
     WHERE ($1::uuid IS NULL OR b.account_id = $1) AND b.debt <> coalesce(r.owed, 0)`,
  },
  {
    name: 'invariant_statements_reconcile',
    claim:
      'I11: statements follow each other without gaps, and each has the sums of its entries and closes on the balance of the last one',
    text: `SELECT v.id::text AS object, 'period ' || v.period_start AS detail FROM (
        SELECT i.*, lag(closing) OVER w AS closing_before, lag(closing_seq) OVER w AS seq_before,
               lag(period_end) OVER w AS end_before
          FROM invoices i WHERE status <> 'void' AND ($1::uuid IS NULL OR account_id = $1)
        WINDOW w AS (PARTITION BY account_id ORDER BY period_start)) v
      LEFT JOIN LATERAL (
        SELECT coalesce(sum(e.amount) FILTER (WHERE e.type = 'credit_purchase'), 0) AS purchases,
               coalesce(-sum(e.amount) FILTER (WHERE e.type = 'usage_charge'), 0) AS usage,
               coalesce(sum(e.amount) FILTER (WHERE e.type = 'refund'), 0) AS refunds,
               coalesce(sum(e.amount) FILTER (WHERE e.type = 'adjustment'), 0) AS adjustments,
               count(*) AS entries, min(e.seq) AS first_seq, max(e.seq) AS last_seq,
               max(e.balance_after) FILTER (WHERE e.seq = v.closing_seq) AS balance
          FROM ledger_entries e
         WHERE e.account_id = v.account_id AND e.at >= v.period_start AND e.at < v.period_end) s ON true
     WHERE v.opening <> coalesce(v.closing_before, 0) OR v.opening_seq <> coalesce(v.seq_before, 0)
        OR v.period_start <> coalesce(v.end_before, v.period_start)
        OR (v.purchases, v.usage, v.refunds, v.adjustments) <> (s.purchases, s.usage, s.refunds, s.adjustments)
        OR v.closing <> coalesce(s.balance, v.opening) OR s.entries <> v.closing_seq - v.opening_seq
        OR s.first_seq <> v.opening_seq + 1 OR s.last_seq <> v.closing_seq`,
  },
  {
    name: 'invariant_rollups_equal_ledger',
    claim:
      'I12: five-minute roll-ups equal the calls of those five minutes in every sum, by key, endpoint and model, and the calls equal the usage entries; for archived calls, roll-ups equal the charges of the entries, by key',
    text: ROLLUPS_UNLIKE_CALLS,
  },
  {
    name: 'invariant_no_task_forgotten',
    nightly: 'whole',
    claim: 'I13: no task waits or runs more than a minute past its deadline',
    text: `SELECT t.id::text AS object, t.state || ' deadline ' || t.deadline_at AS detail FROM tasks t
     WHERE t.completed_at IS NULL AND t.deadline_at < ledger_now() - interval '60 s'
       AND ($1::uuid IS NULL OR t.account_id = $1)`,
  },
  {
    name: 'invariant_lines_sum_to_charge',
    claim: 'I14: the lines of a generation add up to its charge',
    text: `SELECT g.id::text AS object, 'charge ' || g.charge || ' lines ' || ${LINE_SUM} AS detail FROM generations g
     WHERE ($1::uuid IS NULL OR g.account_id = $1) AND g.charge <> ${LINE_SUM}`,
  },
  {
    name: 'invariant_days_equal_rollups',
    nightly: 'new',
    claim:
      'I15: filled hours and days equal the five-minute roll-ups in every sum, totals of hours equal the hours, and no others exist',
    text: [unlikeRollups('day'), unlikeRollups('hour'), TOTALS_UNLIKE_HOURS].join(' UNION ALL '),
  },
  {
    name: 'invariant_entries_as_sealed',
    claim: 'I16: entries, their calls, statements and the audit log are as they were when they were sealed',
    text: `SELECT coalesce(transaction_id(s.type, s.reference), s.account_id::text) AS object,
             CASE WHEN s.reference IS NULL THEN 'seq ' || s.seq || ' is gone' ELSE 'seq ' || s.seq || ' was changed' END AS detail
      FROM (SELECT d.*, lag(d.digest, 1, ''::bytea) OVER w AS digest_before, lag(d.seq, 1, 0::bigint) OVER w AS seq_before,
                   e.type, e.reference, ROW(e.*)::ledger_entries AS entry, g.id AS call_id, ROW(g.*)::generations AS call
              FROM ledger_seals d
              LEFT JOIN ledger_entries e ON e.account_id = d.account_id AND e.seq = d.seq
              LEFT JOIN generations g ON g.id = e.reference AND g.account_id = e.account_id AND e.type = 'usage_charge'
             WHERE $1::uuid IS NULL OR d.account_id = $1
            WINDOW w AS (PARTITION BY d.account_id ORDER BY d.seq)) s
     WHERE s.seq <> s.seq_before + 1 OR s.reference IS NULL
        OR (s.digest <> entry_digest(s.digest_before, s.entry, s.call)
          -- of an archived call its digest is all there is, until it is restored
          AND NOT (s.type = 'usage_charge' AND s.call_id IS NULL AND call_is_archived(s.reference)))
    UNION ALL
    ${STATEMENTS_AND_AUDIT_AS_SEALED}`,
  },
  {
    name: 'invariant_documents_as_issued',
    nightly: 'new',
    claim: 'I17: documents are as they were issued, numbered without gaps',
    text: `SELECT d.id::text AS object, d.kind || ' ' || d.number || ' was changed' AS detail FROM documents d
     WHERE ($1::uuid IS NULL OR d.account_id = $1) AND ($2::timestamptz IS NULL OR d.issued_at >= $2) AND sha256(d.pdf) <> d.pdf_sha256
    UNION ALL
    SELECT d.id::text, d.kind || ' ' || d.number || ' part ' || p.part FROM documents d JOIN document_csv_parts p ON p.document_id = d.id
     WHERE ($1::uuid IS NULL OR d.account_id = $1) AND ($2::timestamptz IS NULL OR d.issued_at >= $2) AND sha256(p.content) <> p.sha256
    UNION ALL
    SELECT d.kind, d.number || ' follows ' || d.before FROM
      (SELECT kind, number, lag(number, 1, 0::bigint) OVER (PARTITION BY kind ORDER BY number) AS before FROM documents) d
     WHERE d.number <> d.before + 1`,
  },
];

/** Returns the parameters of an invariant. `since`: null for all of history. */
export function invariantValues(
  { nightly }: Invariant,
  accountId: string | null,
  since: Date | null = null,
): unknown[] {
  return nightly === 'new' ? [accountId, since] : [accountId];
}

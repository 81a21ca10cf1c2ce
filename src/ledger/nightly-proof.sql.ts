import type { SqlStatement } from '../store/statement.ts';
import {
  INVARIANTS,
  type Invariant,
  NEVER_OVERSPENT,
  STATEMENTS_AND_AUDIT_AS_SEALED,
} from './invariants.sql.ts';

/** The invariants a nightly proof checks on the whole database. It walks the new entries separately. */
export const NIGHTLY_INVARIANTS: readonly Invariant[] = [
  ...INVARIANTS.filter(({ nightly }) => nightly !== undefined),
  {
    name: 'invariant_never_overspent_now',
    claim: 'I4: no balance is held beyond its amount, no key beyond its limit',
    text: NEVER_OVERSPENT,
  },
  {
    name: 'invariant_statements_follow',
    claim: 'I11: statements follow each other without gaps',
    text: `SELECT v.id::text AS object, 'period ' || v.period_start AS detail FROM (
        SELECT i.*, lag(closing, 1, 0::bigint) OVER w AS closing_before, lag(closing_seq, 1, 0::bigint) OVER w AS seq_before,
               lag(period_end, 1, period_start) OVER w AS end_before
          FROM invoices i WHERE status <> 'void' AND ($1::uuid IS NULL OR account_id = $1)
        WINDOW w AS (PARTITION BY account_id ORDER BY period_start)) v
     WHERE (v.opening, v.opening_seq, v.period_start) <> (v.closing_before, v.seq_before, v.end_before)`,
  },
  {
    name: 'invariant_statements_and_audit_as_sealed',
    claim: 'I16: statements and the audit log are as they were when they were sealed',
    text: STATEMENTS_AND_AUDIT_AS_SEALED,
  },
];

/** $1 minutes. The time (UTC) before which everything booked is settled, rounded down to a roll-up. → until */
export const settledUntil: SqlStatement = {
  name: 'nightly_settled_until',
  text: `SELECT date_bin('5 minutes', ledger_now() - $1 * interval '1 minute', 'epoch'::timestamptz) AS until`,
};

/** The sums of entries that a proof keeps, by account and key. */
const SUMS = `count(e.seq) AS entries, coalesce(sum(e.amount), 0) AS amount,
             -coalesce(sum(e.amount) FILTER (WHERE e.contra = 'revenue'), 0) AS used,
             coalesce(sum(e.amount) FILTER (WHERE e.type = 'adjustment' AND e.contra = 'receivable'), 0) AS owed`;

/**
 * $1 only accounts above this id or NULL, $2 limit. Accounts by id, with what is proven of them, and whether their state is the proven one
 * plus what was booked since. → {@link AccountToProve}
 */
export const accountsToProve: SqlStatement = {
  name: 'nightly_accounts_to_prove',
  text: `
    WITH page AS MATERIALIZED (
      SELECT b.account_id, b.seq, b.posted, b.used, b.debt, p.until, p.seq AS seq_before, p.balance, p.used AS used_before,
             p.debt AS debt_before, p.digest
        FROM balances b LEFT JOIN ledger_proofs p USING (account_id)
       WHERE $1::uuid IS NULL OR b.account_id > $1 ORDER BY b.account_id LIMIT $2),
    moved AS MATERIALIZED (
      SELECT o.account_id, e.api_key_id, ${SUMS}
        FROM page o JOIN ledger_entries e ON e.account_id = o.account_id AND e.at >= o.until
       WHERE o.seq <> o.seq_before GROUP BY 1, 2),
    totals AS (
      SELECT account_id, sum(entries) AS entries, sum(amount) AS amount, sum(used) AS used, sum(owed) AS owed FROM moved GROUP BY 1),
    wrong_keys AS (
      SELECT DISTINCT o.account_id
        FROM page o JOIN api_keys k USING (account_id)
        LEFT JOIN ledger_key_proofs p ON p.api_key_id = k.id
        LEFT JOIN moved m ON m.account_id = o.account_id AND m.api_key_id = k.id
       WHERE o.until IS NOT NULL AND k.spent <> coalesce(p.spent, 0) - coalesce(m.amount, 0))
    SELECT o.account_id AS account, o.until AS since, o.seq_before AS seq, o.balance, coalesce(t.entries, 0) AS entries,
           o.digest IS NULL OR o.digest IS NOT DISTINCT FROM
             (SELECT s.digest FROM ledger_seals s WHERE s.account_id = o.account_id AND s.seq = o.seq_before) AS is_as_sealed,
           coalesce((o.seq, o.posted, o.used, o.debt) = (o.seq_before + coalesce(t.entries, 0), o.balance + coalesce(t.amount, 0),
             o.used_before + coalesce(t.used, 0), o.debt_before + coalesce(t.owed, 0)) AND k.account_id IS NULL, false) AS adds_up
      FROM page o LEFT JOIN totals t USING (account_id) LEFT JOIN wrong_keys k USING (account_id)
     ORDER BY o.account_id`,
};

/**
 * $1 accounts, $2 times, one each. Accounts with calls begun since then that were charged without an entry, or whose lines do not add up.
 */
export const callsNotMatchingEntries: SqlStatement = {
  name: 'nightly_calls_unlike_entries',
  text: `
    SELECT DISTINCT g.account_id AS account
      FROM unnest($1::uuid[], $2::timestamptz[]) a (account, since)
      JOIN generations g ON g.account_id = a.account AND g.id >= id_floor(a.since)
      LEFT JOIN LATERAL (SELECT c.reference FROM ledger_entries c WHERE c.reference = g.id AND c.type = 'usage_charge' LIMIT 1) e ON true
     WHERE (g.charge > 0 AND e.reference IS NULL)
        OR g.charge <> (SELECT coalesce(sum(value::bigint), 0) FROM jsonb_each_text(g.lines))`,
};

/** $1 accounts, $2 time. Marks everything booked before that time as proven: the current state less what was booked since. */
export const placeProofs: SqlStatement = {
  name: 'nightly_place_proofs',
  text: `
    WITH since AS MATERIALIZED (
      SELECT b.account_id, e.api_key_id, ${SUMS}
        FROM balances b LEFT JOIN ledger_entries e ON e.account_id = b.account_id AND e.at >= $2
       WHERE b.account_id = ANY($1::uuid[]) GROUP BY 1, 2),
    keys AS (
      INSERT INTO ledger_key_proofs (api_key_id, account_id, spent)
        SELECT k.id, k.account_id, k.spent + coalesce(m.amount, 0)
          FROM api_keys k LEFT JOIN since m ON m.account_id = k.account_id AND m.api_key_id = k.id
          LEFT JOIN ledger_key_proofs p ON p.api_key_id = k.id
         WHERE k.account_id = ANY($1::uuid[]) AND k.spent + coalesce(m.amount, 0) <> coalesce(p.spent, 0)
      ON CONFLICT (api_key_id) DO UPDATE SET spent = excluded.spent)
    INSERT INTO ledger_proofs (account_id, until, seq, balance, used, debt, digest)
      SELECT b.account_id, $2, b.seq - t.entries, b.posted - t.amount, b.used - t.used, b.debt - t.owed,
             (SELECT s.digest FROM ledger_seals s WHERE s.account_id = b.account_id AND s.seq = (b.seq - t.entries)::bigint)
        FROM balances b
        JOIN (SELECT account_id, sum(entries) AS entries, sum(amount) AS amount, sum(used) AS used, sum(owed) AS owed
                FROM since GROUP BY 1) t USING (account_id)
    ON CONFLICT (account_id) DO UPDATE SET until = excluded.until, seq = excluded.seq, balance = excluded.balance, used = excluded.used,
      debt = excluded.debt, digest = excluded.digest`,
};

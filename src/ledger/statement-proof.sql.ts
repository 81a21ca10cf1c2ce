import type { Statement } from '../store/statement.ts';

/** A slice that is broken can be broken in every entry; this many say enough. */
const VIOLATIONS_PER_SLICE = 20;

/** $1 accounts. Their statements that are not final, oldest first. → {@link StatedMonth} */
export const statementsToProve: Statement = {
  name: 'ledger_statements_to_prove',
  text: `SELECT id, account_id, period_start, period_end, opening, purchases, usage, refunds, adjustments, closing, opening_seq, closing_seq,
                encode(digest, 'hex') AS digest
           FROM invoices WHERE account_id = ANY($1::uuid[]) AND status = 'open' ORDER BY account_id, period_start`,
};

/**
 * Walks the entries of accounts between two times, and adds them up. $1 accounts, $2 starts (inclusive), $3 ends (exclusive), one of
 * each per slice. One row a slice, in the order they were given: what was there before it, what is there after it, sums by type,
 * what the five-minute roll-ups charged, and where an entry does not continue the chain, is not what was sealed, or is no equal of its call.
 */
export const walkSlices: Statement = {
  name: 'ledger_walk_slices',
  text: `
    WITH slices AS MATERIALIZED (
      SELECT s.*, coalesce(o.seq, 0) AS seq, coalesce(o.balance_after, 0) AS balance, coalesce(o.at, '-infinity') AS at, o.digest
        FROM unnest($1::uuid[], $2::timestamptz[], $3::timestamptz[]) WITH ORDINALITY s (account, since, until, place)
        LEFT JOIN LATERAL (
          SELECT e.seq, e.balance_after, e.at,
                 (SELECT d.digest FROM ledger_seals d WHERE d.account_id = s.account AND d.seq = e.seq) AS digest
            FROM ledger_entries e WHERE e.account_id = s.account AND e.at < s.since ORDER BY e.at DESC, e.seq DESC LIMIT 1) o ON true),
    walked AS (
      SELECT s.place, e AS entry, g AS call, d.digest, lag(e.seq, 1, s.seq) OVER w AS seq_before,
             lag(e.balance_after, 1, s.balance) OVER w AS balance_before, lag(e.at, 1, s.at) OVER w AS at_before,
             CASE WHEN row_number() OVER w = 1 THEN coalesce(s.digest, ''::bytea) ELSE lag(d.digest) OVER w END AS digest_before,
             row_number() OVER (PARTITION BY s.place ORDER BY e.seq DESC) = 1 AS is_last
        FROM slices s
        JOIN ledger_entries e ON e.account_id = s.account AND e.at >= s.since AND e.at < s.until
        LEFT JOIN generations g ON g.id = e.reference AND e.type = 'usage_charge'
        LEFT JOIN ledger_seals d ON d.account_id = e.account_id AND d.seq = e.seq
      WINDOW w AS (PARTITION BY s.place ORDER BY e.seq)),
    judged AS (
      SELECT w.*, CASE
          WHEN (w.entry).seq <> w.seq_before + 1 OR (w.entry).at < w.at_before
            OR (w.entry).balance_after - (w.entry).amount <> w.balance_before THEN 'does not follow the entry before'
          WHEN (w.entry).type = 'usage_charge' AND ((w.call).id IS NULL OR (w.call).account_id <> (w.entry).account_id
            OR (w.call).api_key_id <> (w.entry).api_key_id OR (w.call).charge <> -(w.entry).amount
            OR (w.call).completed_at <> (w.entry).at) THEN 'is no equal of its call'
          WHEN (w.entry).type = 'usage_charge' AND (w.call).charge <>
            (SELECT coalesce(sum(value::bigint), 0) FROM jsonb_each_text((w.call).lines)) THEN 'has lines that do not add up to it'
          WHEN w.digest IS DISTINCT FROM entry_digest(w.digest_before, w.entry, w.call) THEN 'is not what was sealed' END AS fault
        FROM walked w),
    sums AS (
      SELECT j.place, count(*) AS entries,
             coalesce(sum((j.entry).amount) FILTER (WHERE (j.entry).type = 'credit_purchase'), 0) AS purchases,
             coalesce(-sum((j.entry).amount) FILTER (WHERE (j.entry).type = 'usage_charge'), 0) AS usage,
             coalesce(sum((j.entry).amount) FILTER (WHERE (j.entry).type = 'refund'), 0) AS refunds,
             coalesce(sum((j.entry).amount) FILTER (WHERE (j.entry).type = 'adjustment'), 0) AS adjustments,
             max((j.entry).balance_after) FILTER (WHERE j.is_last) AS balance, max((j.entry).seq) FILTER (WHERE j.is_last) AS seq,
             max(encode(j.digest, 'hex')) FILTER (WHERE j.is_last) AS digest,
             coalesce((array_agg(transaction_id((j.entry).type, (j.entry).reference) || ' seq ' || (j.entry).seq || ' ' || j.fault)
               FILTER (WHERE j.fault IS NOT NULL))[1:${VIOLATIONS_PER_SLICE}], '{}') AS faults
        FROM judged j GROUP BY j.place)
    SELECT s.balance AS opening, s.seq AS opening_seq, coalesce(t.balance, s.balance) AS closing, coalesce(t.seq, s.seq) AS closing_seq,
           coalesce(t.digest, encode(s.digest, 'hex')) AS digest, coalesce(t.entries, 0) AS entries, coalesce(t.purchases, 0)::text AS purchases,
           coalesce(t.usage, 0)::text AS usage, coalesce(t.refunds, 0)::text AS refunds, coalesce(t.adjustments, 0)::text AS adjustments,
           (SELECT coalesce(sum(u.charge), 0)::text FROM usage_rollups u
             WHERE u.account_id = s.account AND u.bucket >= s.since AND u.bucket < s.until) AS rolled_up,
           coalesce(t.faults, '{}') AS faults
      FROM slices s LEFT JOIN sums t USING (place) ORDER BY s.place`,
};

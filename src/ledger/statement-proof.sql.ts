import type { SqlStatement } from '../store/statement.ts';

/** A broken slice can be broken in every entry; this many violations are enough to see it. */
const VIOLATIONS_PER_SLICE = 20;
/** Bounds the statements of inactive accounts: they have no entries to count. */
const STATEMENTS_REPROVEN_MAX = 5_000;

/** $1 accounts. Their statements that are not final, oldest first. → {@link StatedMonth} */
export const statementsToProve: SqlStatement = {
  name: 'ledger_statements_to_prove',
  text: `SELECT id, account_id, period_start, period_end, opening, purchases, usage, refunds, adjustments, closing, opening_seq, closing_seq,
                encode(digest, 'hex') AS digest
           FROM invoices WHERE account_id = ANY($1::uuid[]) AND status = 'open' ORDER BY account_id, period_start`,
};

/**
 * $1 entries. Final statements, those unproven for the longest time first, until they have this many entries; at least one statement. Those
 * whose calls are archived wait until they are restored. A statement of an earlier release has no digest of its own. → {@link StatedMonth}
 */
export const statementsToReprove: SqlStatement = {
  name: 'ledger_statements_to_reprove',
  text: `
    SELECT id, account_id, period_start, period_end, opening, purchases, usage, refunds, adjustments, closing, opening_seq, closing_seq,
           coalesce(encode(digest, 'hex'), (SELECT encode(d.digest, 'hex') FROM ledger_seals d
             WHERE d.account_id = r.account_id AND d.seq = r.closing_seq)) AS digest
      FROM (SELECT i.*, coalesce(p.proven_at, i.created_at) AS proven_at,
                   sum(i.closing_seq - i.opening_seq) OVER (ORDER BY coalesce(p.proven_at, i.created_at), i.id) AS entries
              FROM invoices i LEFT JOIN statement_proofs p ON p.statement_id = i.id
             WHERE i.status IN ('paid', 'uncollectible')
               AND NOT EXISTS (SELECT 1 FROM call_archives a WHERE a.month_start = i.period_start AND a.dropped_at IS NOT NULL)) r
     WHERE r.entries - (r.closing_seq - r.opening_seq) < $1 ORDER BY r.proven_at, r.id LIMIT ${STATEMENTS_REPROVEN_MAX}`,
};

/** $1 statements, $2 their accounts, one each. Records that they are proven now. */
export const rememberProven: SqlStatement = {
  name: 'ledger_remember_proven',
  text: `INSERT INTO statement_proofs (statement_id, account_id)
         SELECT s.id, s.account FROM unnest($1::uuid[], $2::uuid[]) s (id, account)
         ON CONFLICT (statement_id) DO UPDATE SET proven_at = excluded.proven_at`,
};

/**
 * $1 accounts, $2 starts (inclusive), $3 ends (exclusive), both multiples of five minutes, $4 ids of what is compared, one of each per
 * slice. Roll-ups whose charge differs from that of the entries, by key, endpoint and model. → object: the id from $4, detail
 */
export const rollupsNotMatchingEntries: SqlStatement = {
  name: 'ledger_rollups_unlike_entries',
  text: `
    WITH slices AS MATERIALIZED (
      SELECT * FROM unnest($1::uuid[], $2::timestamptz[], $3::timestamptz[], $4::uuid[]) s (account, since, until, object)),
    booked AS (
      SELECT s.object, date_bin('5 minutes', e.at, 'epoch'::timestamptz) AS bucket, e.api_key_id, g.endpoint, g.model, -sum(e.amount) AS charge
        FROM slices s
        JOIN ledger_entries e ON e.account_id = s.account AND e.at >= s.since AND e.at < s.until AND e.type = 'usage_charge'
        -- looked up one by one, here and below: another plan reads all of history
        JOIN LATERAL (SELECT c.endpoint, c.model FROM generations c WHERE c.id = e.reference LIMIT 1) g ON true
       GROUP BY 1, 2, 3, 4, 5),
    rolled_up AS (
      SELECT s.object, u.bucket, u.api_key_id, u.endpoint, u.model, u.charge
        FROM slices s JOIN usage_rollups u ON u.account_id = s.account AND u.bucket >= s.since AND u.bucket < s.until
       WHERE u.charge <> 0)
    SELECT object, 'bucket ' || bucket || ' ' || model AS detail
      FROM booked b FULL JOIN rolled_up u USING (object, bucket, api_key_id, endpoint, model)
     WHERE b.charge IS DISTINCT FROM u.charge ORDER BY 1, 2 LIMIT ${VIOLATIONS_PER_SLICE}`,
};

/** $1 statements. Documents of theirs that differ from what was issued. → object: the statement, detail */
export const documentsNotMatchingIssued: SqlStatement = {
  name: 'ledger_documents_unlike_issued',
  text: `SELECT d.id AS object, d.kind || ' ' || d.number || ' was changed' AS detail FROM documents d
          WHERE d.id = ANY($1::uuid[]) AND (sha256(d.pdf) <> d.pdf_sha256 OR EXISTS
            (SELECT 1 FROM document_csv_parts p WHERE p.document_id = d.id AND sha256(p.content) <> p.sha256))`,
};

/**
 * Walks the entries of accounts between two times, and adds them up. $1 accounts, $2 starts (inclusive), $3 ends (exclusive), one of
 * each per slice. One row per slice, in the given order: the positions before and after it, sums by type, what the five-minute roll-ups
 * charged, and each entry that does not continue the chain, differs from its seal or does not match its call.
 */
export const walkSlices: SqlStatement = {
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
      SELECT s.place, ROW(e.*)::ledger_entries AS entry, g.call, d.digest, lag(e.seq, 1, s.seq) OVER w AS seq_before,
             lag(e.balance_after, 1, s.balance) OVER w AS balance_before, lag(e.at, 1, s.at) OVER w AS at_before,
             CASE WHEN row_number() OVER w = 1 THEN coalesce(s.digest, ''::bytea) ELSE lag(d.digest) OVER w END AS digest_before,
             row_number() OVER (PARTITION BY s.place ORDER BY e.seq DESC) = 1 AS is_last
        FROM slices s
        JOIN ledger_entries e ON e.account_id = s.account AND e.at >= s.since AND e.at < s.until
        LEFT JOIN LATERAL (SELECT ROW(c.*)::generations AS call FROM generations c WHERE c.id = e.reference AND e.type = 'usage_charge' LIMIT 1) g ON true
        LEFT JOIN LATERAL (SELECT d.digest FROM ledger_seals d WHERE d.account_id = e.account_id AND d.seq = e.seq LIMIT 1) d ON true
      WINDOW w AS (PARTITION BY s.place ORDER BY e.seq)),
    judged AS (
      SELECT w.*, CASE
          WHEN (w.entry).seq <> w.seq_before + 1 OR (w.entry).at < w.at_before
            OR (w.entry).balance_after - (w.entry).amount <> w.balance_before THEN 'does not follow the entry before'
          WHEN (w.entry).type = 'usage_charge' AND ((w.call).id IS NULL OR (w.call).account_id <> (w.entry).account_id
            OR (w.call).api_key_id <> (w.entry).api_key_id OR (w.call).charge <> -(w.entry).amount
            OR (w.call).completed_at <> (w.entry).at) THEN 'does not match its call'
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

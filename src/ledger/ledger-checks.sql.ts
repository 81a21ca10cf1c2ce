import type { SqlStatement } from '../store/statement.ts';

/** $1 limit. Accounts with entries past their watermark, those unproven for the longest time first. */
export const accountsToCheck: SqlStatement = {
  name: 'ledger_accounts_to_check',
  text: `SELECT b.account_id AS id FROM balances b LEFT JOIN ledger_watermarks w USING (account_id)
          WHERE b.seq > coalesce(w.seq, 0) ORDER BY w.at NULLS FIRST LIMIT $1`,
};

/**
 * $1 account. Rows where the entries past the watermark do not continue the chain, do not add up to the balance, or
 * have no equal generation, or where held money is not the sum of the open holds.
 */
export const tailViolations: SqlStatement = {
  name: 'ledger_tail_violations',
  text: `
    WITH mark AS (
      SELECT coalesce(w.seq, 0) AS seq, coalesce(w.balance, 0) AS balance, coalesce(w.at, '-infinity') AS at
        FROM (SELECT) one LEFT JOIN ledger_watermarks w ON w.account_id = $1),
    tail AS MATERIALIZED (
      SELECT e.*, lag(e.balance_after, 1, m.balance) OVER w AS balance_before, lag(e.seq, 1, m.seq) OVER w AS seq_before,
             lag(e.at, 1, m.at) OVER w AS at_before
        FROM ledger_entries e, mark m WHERE e.account_id = $1 AND e.at >= m.at AND e.seq > m.seq
      WINDOW w AS (ORDER BY e.seq))
    SELECT 'I5: entries form a gapless chain' AS claim, t.reference::text AS object, 'seq ' || t.seq AS detail FROM tail t
     WHERE t.balance_after - t.amount <> t.balance_before OR t.seq <> t.seq_before + 1 OR t.at < t.at_before
    UNION ALL
    SELECT 'I1: a balance is what its entries add up to', b.account_id::text, 'posted ' || b.posted
      FROM balances b, mark m, (SELECT coalesce(sum(amount), 0) AS total, count(*) AS entries FROM tail) t
     WHERE b.account_id = $1 AND (b.posted <> m.balance + t.total OR b.seq <> m.seq + t.entries)
    UNION ALL
    SELECT 'I6: a usage entry has an equal generation', t.reference::text, 'amount ' || t.amount
      FROM tail t LEFT JOIN generations g ON g.id = t.reference AND g.account_id = t.account_id
     WHERE t.type = 'usage_charge' AND (g.id IS NULL OR g.charge <> -t.amount)
    UNION ALL
    SELECT 'I2: held money is what the open holds add up to', b.account_id::text, 'held ' || b.held
      FROM balances b WHERE b.account_id = $1
       AND b.held <> (SELECT coalesce(sum(h.amount), 0) FROM holds h WHERE h.account_id = $1)`,
};

/** $1 account. Moves the watermark to the balance in this snapshot. */
export const advanceWatermark: SqlStatement = {
  name: 'ledger_advance_watermark',
  text: `INSERT INTO ledger_watermarks (account_id, seq, balance, at)
         SELECT b.account_id, b.seq, b.posted, b.last_at FROM balances b WHERE b.account_id = $1
         ON CONFLICT (account_id) DO UPDATE SET seq = excluded.seq, balance = excluded.balance, at = excluded.at`,
};

/** $1 kind, $2 accounts checked, $3 violations as JSON, $4 duration in ms. */
export const recordCheck: SqlStatement = {
  name: 'ledger_record_check',
  text: 'INSERT INTO ledger_checks (kind, accounts, violations, duration_ms) VALUES ($1, $2, $3, $4)',
};

/** The newest check of each kind: its age in seconds, its number of violations, the number of accounts, its duration in ms. */
export const latestChecks: SqlStatement = {
  name: 'ledger_latest_checks',
  text: `SELECT c.kind, extract(epoch FROM statement_timestamp() - c.at)::double precision AS age_seconds,
                jsonb_array_length(c.violations) AS violations, c.at, c.accounts::text AS accounts, c.duration_ms
           FROM unnest(ARRAY['full', 'nightly', 'incremental']) k (kind) CROSS JOIN LATERAL
             (SELECT * FROM ledger_checks l WHERE l.kind = k.kind ORDER BY l.at DESC LIMIT 1) c`,
};

/** $1 days. Deletes older checks that found nothing; those with violations stay. */
export const forgetCleanChecks: SqlStatement = {
  name: 'ledger_forget_clean_checks',
  text: `DELETE FROM ledger_checks WHERE at < statement_timestamp() - $1 * interval '1 day' AND violations = '[]'`,
};

/** $1 limit. Accounts with entries that are not sealed. */
export const accountsToSeal: SqlStatement = {
  name: 'ledger_accounts_to_seal',
  text: `SELECT b.account_id AS id FROM balances b LEFT JOIN LATERAL
           (SELECT s.seq FROM ledger_seals s WHERE s.account_id = b.account_id ORDER BY s.seq DESC LIMIT 1) s ON true
          WHERE b.seq > coalesce(s.seq, 0) LIMIT $1`,
};

/** $1 account, $2 limit, $3 time of the last sealed entry, or NULL when unknown. → sealed: the number of entries, until: the new $3 */
export const sealAccount: SqlStatement = {
  name: 'seal_account',
  text: 'SELECT sealed, until::text FROM seal_account($1, $2, $3::timestamptz)',
};

/** → sealed: the number of rows */
export const sealAuditLog: SqlStatement = {
  name: 'seal_audit_log',
  text: 'SELECT seal_audit_log() AS sealed',
};

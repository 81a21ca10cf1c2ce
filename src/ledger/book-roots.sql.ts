import type { SqlStatement } from '../store/statement.ts';

/** $1 minutes. → today: the UTC day (YYYY-MM-DD) as of $1 minutes ago, so that whatever began before midnight has ended */
export const settledDay: SqlStatement = {
  name: 'book_roots_settled_day',
  text: `SELECT to_char((ledger_now() - $1 * interval '1 minute') AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS today`,
};

/**
 * $1 start, $2 end, $3 only accounts above this id or NULL, $4 limit. The last entry before the end, for each account with an entry since
 * the start. → account, seq, digest (hex; NULL: not sealed yet)
 */
export const rootsOfAccounts: SqlStatement = {
  name: 'book_roots_of_accounts',
  text: `
    SELECT b.account_id AS account, e.seq::text AS seq, encode(s.digest, 'hex') AS digest
      FROM balances b CROSS JOIN LATERAL
        (SELECT l.seq, l.at FROM ledger_entries l WHERE l.account_id = b.account_id AND l.at < $2 ORDER BY l.at DESC, l.seq DESC LIMIT 1) e
      LEFT JOIN ledger_seals s ON s.account_id = b.account_id AND s.seq = e.seq
     WHERE b.last_at >= $1 AND e.at >= $1 AND ($3::uuid IS NULL OR b.account_id > $3) ORDER BY 1 LIMIT $4`,
};

/** $1 end. The last sealed row of the audit log before the end. → position, digest (hex) */
export const rootOfAuditLog: SqlStatement = {
  name: 'book_root_of_audit_log',
  text: `SELECT s.position::text AS position, encode(s.digest, 'hex') AS digest
           FROM audit_seals s JOIN audit_log a ON a.id = s.audit_id WHERE a.at < $1 ORDER BY s.position DESC LIMIT 1`,
};

/** $1 accounts, $2 seqs, $3 digests (hex). Entries whose seal differs from the given digest. → account, seq */
export const mismatchedRoots: SqlStatement = {
  name: 'book_roots_unlike',
  text: `SELECT r.account, r.seq::text AS seq FROM unnest($1::uuid[], $2::bigint[], $3::text[]) r (account, seq, digest)
           LEFT JOIN ledger_seals s ON s.account_id = r.account AND s.seq = r.seq
          WHERE encode(s.digest, 'hex') IS DISTINCT FROM r.digest`,
};

/** $1 position, $2 digest (hex). → one row when the audit log's seal at that position differs */
export const mismatchedAuditRoot: SqlStatement = {
  name: 'book_roots_audit_unlike',
  text: `SELECT 1 AS unlike WHERE NOT EXISTS
           (SELECT 1 FROM audit_seals WHERE position = $1::bigint AND encode(digest, 'hex') = $2)`,
};

import type { SqlStatement } from '../store/statement.ts';

/** $1 action, $2 object, $3 actor, $4–$5 time range, $6 only rows below this id, each or NULL, $7 limit. Newest first. */
export const auditPage: SqlStatement = {
  name: 'operator_audit_page',
  text: `SELECT id, at, actor, action, object, request_id, detail FROM audit_log
     WHERE ($1::text IS NULL OR action = $1::text) AND ($2::text IS NULL OR object = $2::text)
       AND ($3::text IS NULL OR actor = $3::text)
       AND ($4::timestamptz IS NULL OR at >= $4) AND ($5::timestamptz IS NULL OR at < $5)
       AND ($6::bigint IS NULL OR id < $6::bigint)
     ORDER BY id DESC LIMIT $7`,
};

import type { Statement } from '../store/statement.ts';

/** $1 action or NULL, $2 object or NULL, $3 only rows below this id or NULL, $4 limit, $5 from or NULL, $6 before or NULL. Newest first. */
export const auditPage: Statement = {
  name: 'operator_audit_page',
  text: `SELECT id, at, actor, action, object, request_id, detail FROM audit_log
     WHERE ($1::text IS NULL OR action = $1::text) AND ($2::text IS NULL OR object = $2::text)
       AND ($3::bigint IS NULL OR id < $3::bigint)
       AND at >= coalesce($5::timestamptz, '-infinity') AND at < coalesce($6::timestamptz, 'infinity')
     ORDER BY id DESC LIMIT $4`,
};

import type { SqlStatement } from '../../store/statement.ts';

/** $1 id, $2 token hash, $3 operator, $4 rule, $5 seconds, $6 user agent, $7 address. Also deletes expired sessions. */
export const insertOperatorSession: SqlStatement = {
  name: 'operator_session_insert',
  text: `
    WITH ended AS (
      DELETE FROM operator_sessions WHERE id IN (
        SELECT id FROM operator_sessions WHERE ends_at < statement_timestamp() ORDER BY ends_at LIMIT 100))
    INSERT INTO operator_sessions (id, token_hash, operator, rule, ends_at, user_agent, address)
    VALUES ($1, $2, $3, $4, statement_timestamp() + $5 * interval '1 second', $6, $7)`,
};

/** $1 token hash, $2 rule. */
export const findOperatorSession: SqlStatement = {
  name: 'operator_session_find',
  text: `SELECT id, operator, created_at, ends_at, user_agent, address FROM operator_sessions
          WHERE token_hash = $1 AND rule = $2 AND ends_at > statement_timestamp()`,
};

/** $1 rule, $2 before id or NULL, $3 limit. Newest first. */
export const listOperatorSessions: SqlStatement = {
  name: 'operator_session_list',
  text: `SELECT id, operator, created_at, ends_at, user_agent, address FROM operator_sessions
          WHERE rule = $1 AND ends_at > statement_timestamp() AND ($2::uuid IS NULL OR id < $2) ORDER BY id DESC LIMIT $3`,
};

/** $1 id or NULL, $2 token hash or NULL, $3 act for the audit log or {}. */
export const deleteOperatorSession: SqlStatement = {
  name: 'operator_session_delete',
  text: `WITH ended AS (DELETE FROM operator_sessions WHERE id = $1 OR token_hash = $2 RETURNING token_hash, operator)
    SELECT token_hash, operator, record_act($3::jsonb, jsonb_build_object('operator', operator)) FROM ended`,
};

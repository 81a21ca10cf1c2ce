import type { SqlStatement } from '../store/statement.ts';

const SHOWN = 'id, name, pools, created_by, created_at, last_used_at, revoked_at';

/** $1 id, $2 name, $3 hash, $4 pools, $5 operator, $6 act for the audit log. Returns no row when an active token has that name. */
export const insertWorkerToken: SqlStatement = {
  name: 'worker_token_insert',
  text: `WITH created AS (
      INSERT INTO worker_tokens (id, name, hash, pools, created_by) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (name) WHERE revoked_at IS NULL DO NOTHING RETURNING ${SHOWN})
    SELECT ${SHOWN}, record_act($6::jsonb, '{}') FROM created`,
};

/** $1 maximum number of rows. Newest first. */
export const listWorkerTokens: SqlStatement = {
  name: 'worker_token_list',
  text: `SELECT ${SHOWN} FROM worker_tokens ORDER BY id DESC LIMIT $1`,
};

/** $1 name, $2 act for the audit log. Returns no row when no active token has that name. */
export const revokeWorkerToken: SqlStatement = {
  name: 'worker_token_revoke',
  text: `WITH revoked AS (
      UPDATE worker_tokens SET revoked_at = statement_timestamp()
       WHERE name = $1 AND revoked_at IS NULL RETURNING ${SHOWN})
    SELECT ${SHOWN}, record_act($2::jsonb, '{}') FROM revoked`,
};

/** $1 hashes. Records the use at most once a minute. */
export const useWorkerTokens: SqlStatement = {
  name: 'worker_tokens_use',
  text: `WITH found AS (
      SELECT id, hash, name, pools, last_used_at FROM worker_tokens
       WHERE hash = ANY ($1::text[]) AND revoked_at IS NULL),
    used AS (
      UPDATE worker_tokens t SET last_used_at = statement_timestamp() FROM found f
       WHERE t.id = f.id AND (f.last_used_at IS NULL OR f.last_used_at < statement_timestamp() - interval '1 minute'))
    SELECT id, hash, name, pools FROM found`,
};

import type { SqlStatement } from '../store/statement.ts';

const VIEW = `t.id, t.account_id, k.hash AS api_key_hash, t.endpoint, t.model, t.kind, t.pool, t.state, t.seed, t.charge,
  t.generation_runs, t.failures, t.progress, t.engine_position, t.cancel_requested_at, t.error_code, t.error_message, t.base64_output, t.created_at,
  t.started_at, t.completed_at, t.deadline_at, t.media_expires_at, t.media_deleted_at,
  (t.parameters->>'width')::integer AS width, (t.parameters->>'height')::integer AS height,
  (t.parameters->>'steps')::integer AS steps, (t.parameters->>'seconds')::integer AS seconds`;

/** $1 task, $2 account or NULL for any, $3 key or NULL for any. */
export const findTask: SqlStatement = {
  name: 'task_find',
  text: `SELECT ${VIEW} FROM tasks t JOIN api_keys k ON k.id = t.api_key_id
     WHERE t.id = $1 AND ($2::uuid IS NULL OR t.account_id = $2) AND ($3::uuid IS NULL OR t.api_key_id = $3)`,
};

/**
 * $1 account, $2 id to start before, $3 states, $4 model, $5 created at or after, $6 created before, $7 kind, $8 hash of a key, $9
 * key; $2 to $9 may be NULL for no limit. $10 limit. Newest first.
 */
export const listTasks: SqlStatement = {
  name: 'task_list',
  text: `SELECT ${VIEW} FROM tasks t JOIN api_keys k ON k.id = t.api_key_id
     WHERE t.account_id = $1 AND ($2::uuid IS NULL OR t.id < $2) AND ($3::text[] IS NULL OR t.state = ANY ($3))
       AND ($4::text IS NULL OR t.model = $4) AND ($5::timestamptz IS NULL OR t.created_at >= $5)
       AND ($6::timestamptz IS NULL OR t.created_at < $6) AND ($7::text IS NULL OR t.kind = $7)
       AND ($8::text IS NULL OR k.hash = $8) AND ($9::uuid IS NULL OR t.api_key_id = $9)
     ORDER BY t.id DESC LIMIT $10`,
};

/** $1 tasks. */
export const listOutputs: SqlStatement = {
  name: 'task_list_outputs',
  text: `SELECT task_id, index, variant, storage_key, media_type, bytes, width, height, duration_ms, sha256
      FROM task_outputs WHERE task_id = ANY ($1::uuid[]) ORDER BY task_id, index, variant`,
};

/** $1 tasks. Returns those that have ended (or no longer exist). */
export const findEnded: SqlStatement = {
  name: 'task_find_ended',
  text: `SELECT w.id FROM unnest($1::uuid[]) w (id) LEFT JOIN tasks t ON t.id = w.id
     WHERE t.id IS NULL OR t.completed_at IS NOT NULL`,
};

/** $1 pool, $2 account, $3 maximum. Counts the account's waiting tasks, up to the maximum. */
export const countQueued: SqlStatement = {
  name: 'task_count_queued',
  text: `SELECT count(*)::integer AS tasks FROM
      (SELECT FROM tasks WHERE state = 'queued' AND pool = $1 AND account_id = $2 LIMIT $3) queued`,
};

/** $1 pool. Counts the waiting tasks by account. */
export const queueByAccount: SqlStatement = {
  name: 'task_queue_by_account',
  text: `SELECT account_id, count(*)::integer AS tasks FROM tasks WHERE state = 'queued' AND pool = $1 GROUP BY 1`,
};

/** $1 pool, $2 account, $3 task. Returns the task's place among those of its account. */
export const ownTurn: SqlStatement = {
  name: 'task_own_turn',
  text: `SELECT count(*)::integer AS turn FROM tasks
     WHERE state = 'queued' AND pool = $1 AND account_id = $2 AND id <= $3`,
};

/** $1 model. Returns the median ms from start to end of recent successes. */
export const typicalDuration: SqlStatement = {
  name: 'task_typical_duration',
  text: `SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM completed_at - started_at) * 1000) AS ms
      FROM (SELECT completed_at, started_at FROM tasks
             WHERE model = $1 AND state = 'succeeded' AND completed_at > statement_timestamp() - interval '6 hours'
             ORDER BY completed_at DESC LIMIT 50) recent`,
};

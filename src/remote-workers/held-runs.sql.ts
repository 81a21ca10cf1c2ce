import type { SqlStatement } from '../store/statement.ts';

/** $1 task, $2 attempt, $3 worker, $4 pools. Returns a row only while that worker holds the task to generate it. */
export const findHeldRun: SqlStatement = {
  name: 'remote_held_run',
  text: `SELECT id, account_id, api_key_id, created_at, kind, pool, parameters->>'upstream_model' AS upstream_model
      FROM tasks WHERE id = $1 AND attempt = $2 AND worker = $3 AND pool = ANY ($4) AND state = 'generating'`,
};

/** $1 tasks, $2 attempts, $3 worker, $4 pools. Returns those that this worker holds. */
export const findHeldRuns: SqlStatement = {
  name: 'remote_held_runs',
  text: `SELECT t.id, t.attempt
      FROM tasks t JOIN unnest($1::uuid[], $2::integer[]) i (id, attempt) ON t.id = i.id AND t.attempt = i.attempt
     WHERE t.worker = $3 AND t.pool = ANY ($4) AND t.state = 'generating'`,
};

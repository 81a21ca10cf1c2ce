import type { SqlStatement } from '../store/statement.ts';

/** $1 pools. Counts the tasks that wait for each. */
export const countWaiting: SqlStatement = {
  name: 'task_count_waiting',
  text: `SELECT pool, count(*)::integer AS tasks FROM tasks WHERE state = 'queued' AND pool = ANY ($1::text[]) GROUP BY 1`,
};

/**
 * $1 model, $2 pool that they leave, $3 pool that they move to, $4 the engine's name for the model there, $5 ms that they must have
 * waited, $6 limit, $7 channel of the relays, $8 whether runs are billed in the pool that they leave. Takes the accounts in turns,
 * each one's oldest task first. A task whose run may continue there and is billed stays in its pool; a run that costs nothing is left
 * behind. Holds and agreed prices stay the same.
 */
export const moveTasks: SqlStatement = {
  name: 'task_move',
  text: `WITH waiting AS (
      SELECT id, row_number() OVER (PARTITION BY account_id ORDER BY id) AS turn
        FROM tasks
       WHERE state = 'queued' AND pool = $2 AND model = $1 AND cancel_requested_at IS NULL
         AND NOT ($8 AND (engine_submitted_at IS NOT NULL OR engine_reference IS NOT NULL))
         AND created_at <= statement_timestamp() - $5 * interval '1 ms'),
    leaving AS (
      SELECT t.id FROM tasks t JOIN (SELECT id FROM waiting ORDER BY turn, id LIMIT $6) w USING (id)
       WHERE t.state = 'queued' AND t.pool = $2
         AND NOT ($8 AND (t.engine_submitted_at IS NOT NULL OR t.engine_reference IS NOT NULL))
       ORDER BY t.id FOR UPDATE OF t SKIP LOCKED),
    moved AS (
      UPDATE tasks t
         SET pool = $3, parameters = t.parameters || jsonb_build_object('upstream_model', $4::text),
             dispatched_at = NULL, not_before = statement_timestamp(), avoid_host = NULL, avoid_until = NULL,
             passed_over_at = NULL, engine = NULL, engine_submitted_at = NULL, engine_reference = NULL
        FROM leaving l WHERE t.id = l.id
      RETURNING t.id, t.account_id, t.state, t.attempt),
    logged AS (
      INSERT INTO task_events (task_id, account_id, state, attempt, detail)
        SELECT id, account_id, state, attempt, 'moved_to_' || $3 FROM moved)
    SELECT id, pg_notify($7, 'generate-' || $3) FROM moved`,
};

import type { SqlStatement } from '../store/statement.ts';

const TASK = `
  SELECT t.id, t.account_id, k.hash AS api_key_hash, t.endpoint, t.model, t.kind, t.pool, t.state, t.seed, t.charge,
         t.attempt, t.generation_runs, t.failures, t.interruptions, t.worker, t.lease_until, t.not_before, t.dispatched_at, t.dispatches, t.engine,
         t.engine_reference, t.progress, t.cancel_requested_at, t.error_code, t.error_message, t.created_at,
         t.started_at, t.completed_at, t.deadline_at, t.parameters->'prompt' IS NOT NULL AS has_parameters,
         coalesce(h.request_id, g.request_id) AS request_id, coalesce(h.id, g.id) AS call_id, coalesce(h.amount, 0) AS held,
         coalesce(g.charge, 0) AS charged, coalesce(g.attempts, t.billed_runs) AS runs,
         coalesce(g.provider_cost, (SELECT sum((r->>'cost')::bigint) FROM jsonb_array_elements(t.billed_runs) r)) AS provider_cost
    FROM tasks t JOIN api_keys k ON k.id = t.api_key_id
    LEFT JOIN holds h ON h.id = t.id LEFT JOIN generations g ON g.id = t.id`;

/** $1 task. */
export const operatorTask: SqlStatement = { name: 'operator_task', text: `${TASK} WHERE t.id = $1::uuid` };

/** $1 account or NULL, $2 state or NULL, $3 only ids below it or NULL, $4 limit. Newest first. */
export const operatorTasksPage: SqlStatement = {
  name: 'operator_tasks_page',
  text: `${TASK}
     WHERE ($1::uuid IS NULL OR t.account_id = $1::uuid) AND ($2::text IS NULL OR t.state = $2::text)
       AND ($3::uuid IS NULL OR t.id < $3::uuid)
     ORDER BY t.id DESC LIMIT $4`,
};

/** $1 task, $2 limit. Oldest first. */
export const taskHistory: SqlStatement = {
  name: 'operator_task_history',
  text: `SELECT at, state, attempt, detail, said, cost FROM task_events WHERE task_id = $1::uuid ORDER BY id LIMIT $2`,
};

/** $1 task. Everything needed to order the same work again, including the original price version. */
export const retryableTask: SqlStatement = {
  name: 'operator_retryable_task',
  text: `SELECT t.id, t.account_id, t.api_key_id, t.endpoint, t.model, t.kind, t.pool, t.state,
                CASE WHEN t.parameters->'prompt' IS NOT NULL THEN t.parameters END AS parameters, t.seed, t.charge, t.webhook_url, t.completed_at, g.price_version
           FROM tasks t LEFT JOIN generations g ON g.id = t.id WHERE t.id = $1`,
};

/** $1 task, $2 detail. Writes nothing if the event already exists. */
export const noteTaskEvent: SqlStatement = {
  name: 'operator_note_task_event',
  text: 'SELECT note_task_event($1, $2)',
};

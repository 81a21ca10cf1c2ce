import type { Statement } from '../../statement.ts';

const CLAIMED = `id, account_id, api_key_id, endpoint, model, kind, pool, attempt, failures, parameters, seed, charge,
  engine_submitted_at, engine_reference, raw_outputs, created_at, started_at, deadline_at`;

/**
 * $1 task, $2 from, $3 to, $4 worker, $5 lease in ms. The one way to begin work: whoever changes the row has it, with the next number
 * of the fence.
 */
export const claimTask: Statement = {
  name: 'task_claim',
  text: `UPDATE tasks
       SET state = $3, attempt = attempt + 1, worker = $4,
           lease_until = clock_timestamp() + $5 * interval '1 ms',
           started_at = coalesce(started_at, clock_timestamp()),
           base64_output = base64_output OR coalesce((parameters->>'base64_output')::boolean, false)
     WHERE id = $1 AND state = $2 AND cancel_requested_at IS NULL
       AND not_before <= clock_timestamp() AND deadline_at > clock_timestamp()
    RETURNING ${CLAIMED}`,
};

/**
 * $1 ids, $2 attempts, $3 progresses, $4 lease in ms. Rows that somebody has locked just now are left out instead of waited for:
 * they are being ended, and waiting for several at once could deadlock with a batch that ends them in another order.
 */
export const renewLeases: Statement = {
  name: 'task_renew_leases',
  text: `WITH mine AS (
      SELECT t.id, i.progress
        FROM tasks t JOIN unnest($1::uuid[], $2::integer[], $3::real[]) i (id, attempt, progress)
          ON t.id = i.id AND t.attempt = i.attempt
       WHERE t.state IN ('generating', 'processing')
       ORDER BY t.id FOR UPDATE OF t SKIP LOCKED)
    UPDATE tasks t
       SET lease_until = clock_timestamp() + $4 * interval '1 ms', progress = greatest(t.progress, m.progress)
      FROM mine m WHERE t.id = m.id
    RETURNING t.id, t.attempt, t.cancel_requested_at IS NOT NULL AS cancel_requested`,
};

/** $1 task, $2 attempt. A row comes back while the claim stands. */
export const findLease: Statement = {
  name: 'task_find_lease',
  text: `SELECT cancel_requested_at IS NOT NULL AS cancel_requested FROM tasks
     WHERE id = $1 AND attempt = $2 AND state IN ('generating', 'processing')`,
};

/** $1 task, $2 attempt, $3 engine. Written before a submit that costs money: from here on "was it sent?" may be unanswerable. */
export const markSubmitting: Statement = {
  name: 'task_mark_submitting',
  text: `UPDATE tasks SET engine = $3, engine_submitted_at = clock_timestamp()
     WHERE id = $1 AND attempt = $2 AND state = 'generating' RETURNING id`,
};

/** $1 task, $2 attempt, $3 engine, $4 reference. */
export const storeReference: Statement = {
  name: 'task_store_reference',
  text: `UPDATE tasks
       SET engine = $3, engine_reference = $4, engine_submitted_at = coalesce(engine_submitted_at, clock_timestamp())
     WHERE id = $1 AND attempt = $2 AND state = 'generating' RETURNING id`,
};

/** $1 task, $2 attempt, $3 raw outputs, $4 progress. Frees the engine's slot: what follows needs no engine. */
export const markGenerated: Statement = {
  name: 'task_mark_generated',
  text: `UPDATE tasks
       SET state = 'generated', raw_outputs = $3, progress = greatest(progress, $4::real), worker = NULL,
           lease_until = NULL, dispatched_at = NULL, not_before = clock_timestamp()
     WHERE id = $1 AND attempt = $2 AND state = 'generating'
    RETURNING cancel_requested_at IS NOT NULL AS cancel_requested`,
};

/**
 * $1 task, $2 attempt, $3 failures to add, $4 wait in ms, $5 whether the engine's run is known to be over, $6 reason.
 * Gives the task back one step, for this or another worker.
 */
export const returnTask: Statement = {
  name: 'task_return',
  text: `WITH returned AS (
      UPDATE tasks
         SET state = CASE state WHEN 'generating' THEN 'queued' ELSE 'generated' END,
             failures = failures + $3, not_before = clock_timestamp() + $4 * interval '1 ms',
             worker = NULL, lease_until = NULL, dispatched_at = NULL,
             engine_reference = CASE WHEN $5 THEN NULL ELSE engine_reference END,
             engine_submitted_at = CASE WHEN $5 THEN NULL ELSE engine_submitted_at END
       WHERE id = $1 AND attempt = $2 AND state IN ('generating', 'processing')
      RETURNING id, state, attempt),
    logged AS (
      INSERT INTO task_events (task_id, state, attempt, detail) SELECT id, state, attempt, $6 FROM returned)
    SELECT id FROM returned`,
};

/** $1 channel, $2 payload. */
export const notifyChannel: Statement = { name: 'task_notify', text: 'SELECT pg_notify($1, $2)' };

import type { SqlStatement } from '../store/statement.ts';

/** Writes take the time from a row of `free` or `mine`: a router of several databases rejects functions of time beside columns. */
const CLAIMED = `t.id, account_id, api_key_id, endpoint, model, kind, pool, attempt, failures, interruptions, ended_runs, last_failure,
  parameters, seed, charge, engine_submitted_at, engine_reference, raw_outputs, created_at, started_at,
  extract(epoch FROM deadline_at - f.at)::double precision * 1000 AS deadline_ms`;

/** Ms before a task that failed on one host is offered again: by the relay's next look another host may be free. */
const ELSEWHERE_MS = 500;

/** Returns the SQL for a worker's host: workers are named by host and process. */
const hostOf = (worker: string): string => `regexp_replace(${worker}, '\\.[^.]*$', '')`;

/**
 * $1 tasks (each once), $2 workers, $3 leases in ms, $4 from, $5 to, $6 ms after which a silent worker no longer counts, $7 pools
 * that the callers serve, NULL for any. The only way to begin work: the caller that changes the row has the task, with the next
 * number of the fence. A task that has moved to another pool belongs to that pool, whichever job still names it. A task that has
 * just failed on this host is left to another host that serves its pool, and a drained host begins nothing: such tasks are put back
 * for the relay's next look.
 */
export const claimTasks: SqlStatement = {
  name: 'task_claim',
  text: `WITH free AS (
      SELECT t.id, i.worker, statement_timestamp() AS at, statement_timestamp() + i.lease_ms * interval '1 ms' AS lease_until,
             EXISTS (SELECT FROM worker_drains d WHERE d.host = ${hostOf('i.worker')})
             OR $5 = 'generating' AND t.avoid_until > statement_timestamp() AND t.avoid_host = ${hostOf('i.worker')}
             AND EXISTS (
               SELECT 1 FROM worker_slots s
                WHERE s.queue = 'generate-' || t.pool AND ${hostOf('s.worker')} <> t.avoid_host
                  AND s.seen_at > statement_timestamp() - $6 * interval '1 ms') AS avoided
        FROM tasks t JOIN unnest($1::uuid[], $2::text[], $3::integer[], $7::text[]) i (id, worker, lease_ms, pool)
          ON t.id = i.id AND t.pool = coalesce(i.pool, t.pool)
       WHERE t.state = $4 AND t.cancel_requested_at IS NULL
         AND t.not_before <= statement_timestamp() AND t.deadline_at > statement_timestamp()
       ORDER BY t.id FOR UPDATE OF t),
    left_to_others AS (
      UPDATE tasks t SET dispatched_at = NULL, not_before = statement_timestamp() + ${ELSEWHERE_MS} * interval '1 ms'
        FROM free f WHERE t.id = f.id AND f.avoided)
    UPDATE tasks t
       SET state = $5, attempt = attempt + 1, worker = f.worker, engine_position = NULL,
           generation_runs = generation_runs + CASE WHEN $5 = 'generating' THEN 1 ELSE 0 END,
           lease_until = f.lease_until, started_at = coalesce(started_at, f.at),
           base64_output = base64_output OR coalesce((parameters->>'base64_output')::boolean, false)
      FROM free f WHERE t.id = f.id AND f.avoided IS NOT TRUE
    RETURNING ${CLAIMED}`,
};

/**
 * $1 ids, $2 attempts, $3 progress values, $4 lease in ms, $5 positions in the engine's queue or NULL. Skips locked rows instead of
 * waiting for them: they are being ended, and waiting for several at once could deadlock with a batch that ends them in another
 * order.
 */
export const renewLeases: SqlStatement = {
  name: 'task_renew_leases',
  text: `WITH mine AS (
      SELECT t.id, i.progress, i.position
        FROM tasks t JOIN unnest($1::uuid[], $2::integer[], $3::real[], $5::integer[]) i (id, attempt, progress, position)
          ON t.id = i.id AND t.attempt = i.attempt
       WHERE t.state IN ('generating', 'processing')
       ORDER BY t.id FOR UPDATE OF t SKIP LOCKED)
    UPDATE tasks t
       SET lease_until = statement_timestamp() + $4 * interval '1 ms', progress = greatest(t.progress, m.progress),
           engine_position = m.position
      FROM mine m WHERE t.id = m.id
    RETURNING t.id, t.attempt, t.cancel_requested_at IS NOT NULL AS cancel_requested`,
};

/** $1 task, $2 attempt. Returns a row while the claim is valid. */
export const findLease: SqlStatement = {
  name: 'task_find_lease',
  text: `SELECT cancel_requested_at IS NOT NULL AS cancel_requested FROM tasks
     WHERE id = $1 AND attempt = $2 AND state IN ('generating', 'processing')`,
};

/** $1 task, $2 attempt, $3 engine. Written before a submit that costs money: from then on, whether it was sent may be unknowable. */
export const markSubmitting: SqlStatement = {
  name: 'task_mark_submitting',
  text: `UPDATE tasks SET engine = $3, engine_submitted_at = statement_timestamp()
     WHERE id = $1 AND attempt = $2 AND state = 'generating' RETURNING id`,
};

/** $1 tasks, $2 attempts, $3 engines, $4 references. Returns the ids of those whose claims are valid. */
export const storeReferences: SqlStatement = {
  name: 'task_store_references',
  text: `WITH mine AS (
      SELECT t.id, i.engine, i.reference, statement_timestamp() AS at
        FROM tasks t JOIN unnest($1::uuid[], $2::integer[], $3::text[], $4::text[]) i (id, attempt, engine, reference)
          ON t.id = i.id AND t.attempt = i.attempt
       WHERE t.state = 'generating' ORDER BY t.id FOR UPDATE OF t)
    UPDATE tasks t
       SET engine = m.engine, engine_reference = m.reference,
           engine_submitted_at = coalesce(engine_submitted_at, m.at)
      FROM mine m WHERE t.id = m.id
    RETURNING t.id, t.attempt`,
};

/**
 * $1 tasks, $2 attempts, $3 raw outputs, $4 progress, $5 channel of the relays. Frees the engines' slots: the next steps need no
 * engine.
 */
export const markGenerated: SqlStatement = {
  name: 'task_mark_generated',
  text: `WITH mine AS (
      SELECT t.id, i.raw_outputs
        FROM tasks t JOIN unnest($1::uuid[], $2::integer[], $3::jsonb[]) i (id, attempt, raw_outputs)
          ON t.id = i.id AND t.attempt = i.attempt
       WHERE t.state = 'generating' ORDER BY t.id FOR UPDATE OF t),
    marked AS (
      UPDATE tasks t
         SET state = 'generated', raw_outputs = m.raw_outputs, progress = greatest(progress, $4::real), worker = NULL,
             lease_until = NULL, dispatched_at = NULL, not_before = statement_timestamp()
        FROM mine m WHERE t.id = m.id
      RETURNING t.id, t.attempt, cancel_requested_at IS NOT NULL AS cancel_requested)
    SELECT id, attempt, cancel_requested, pg_notify($5, 'postprocess') FROM marked`,
};

/**
 * $1 task, $2 attempt, $3 failures to add, $4 wait in ms, $5 whether the engine's run is known to be over, $6 reason, $7
 * interruptions to add, $8 whether the run never began, $9 ms for which other hosts are preferred, or NULL, $10 the upstream's
 * words, or NULL, $11 the run with its cost, or NULL, $12 whether its files are of no use. Puts the task back one step, for this or
 * another worker; without its files, to the beginning.
 */
export const returnTask: SqlStatement = {
  name: 'task_return',
  text: `WITH returned AS (
      UPDATE tasks t
         SET state = CASE WHEN t.state = 'generating' OR $12 THEN 'queued' ELSE 'generated' END,
             raw_outputs = CASE WHEN $12 THEN NULL ELSE raw_outputs END,
             failures = failures + $3, interruptions = interruptions + $7, last_failure = $6,
             ended_runs = ended_runs + CASE WHEN $5 AND engine_reference IS NOT NULL THEN 1 ELSE 0 END,
             generation_runs = generation_runs - CASE WHEN $8 THEN 1 ELSE 0 END,
             avoid_host = CASE WHEN $9::integer IS NULL THEN avoid_host ELSE ${hostOf('worker')} END,
             avoid_until = coalesce(n.avoid_until, t.avoid_until),
             not_before = statement_timestamp() + $4 * interval '1 ms',
             worker = NULL, lease_until = NULL, dispatched_at = NULL,
             billed_runs = CASE WHEN $11::jsonb IS NULL THEN billed_runs ELSE billed_runs || $11::jsonb END,
             engine_reference = CASE WHEN $5 THEN NULL ELSE engine_reference END,
             engine_submitted_at = CASE WHEN $5 THEN NULL ELSE engine_submitted_at END
        -- OFFSET keeps it a row of its own
        FROM (SELECT statement_timestamp() + $9::integer * interval '1 ms' AS avoid_until OFFSET 0) n
       WHERE id = $1 AND attempt = $2 AND state IN ('generating', 'processing')
      RETURNING id, account_id, state, attempt),
    logged AS (
      INSERT INTO task_events (task_id, account_id, state, attempt, detail, said, cost)
        SELECT id, account_id, state, attempt, $6, $10, ($11::jsonb->>'cost')::bigint FROM returned)
    SELECT id FROM returned`,
};

import type { SqlStatement } from '../store/statement.ts';

/** $1 limit. Takes tasks away from workers that stopped renewing; the fence rejects what those still write. */
export const lapseLeases: SqlStatement = {
  name: 'task_lapse_leases',
  text: `WITH lapsed AS (
      SELECT id FROM tasks
       WHERE state IN ('generating', 'processing') AND lease_until < statement_timestamp()
       ORDER BY lease_until LIMIT $1 FOR UPDATE SKIP LOCKED),
    returned AS (
      UPDATE tasks t
         SET state = CASE WHEN t.state = 'generating' THEN 'queued' ELSE 'generated' END,
             -- a host that goes takes runs with it; post-processing is ours, and a file may be what ends it
             failures = t.failures + CASE WHEN t.state = 'generating' THEN 0 ELSE 1 END,
             interruptions = t.interruptions + CASE WHEN t.state = 'generating' THEN 1 ELSE 0 END, worker = NULL, lease_until = NULL, dispatched_at = NULL,
             not_before = statement_timestamp()
        FROM lapsed l WHERE t.id = l.id
      RETURNING t.id, t.account_id, t.state, t.attempt),
    logged AS (
      INSERT INTO task_events (task_id, account_id, state, attempt, detail)
        SELECT id, account_id, state, attempt, 'lease_lapsed' FROM returned)
    SELECT id FROM returned`,
};

const ENDING =
  'id, account_id, api_key_id, kind, state, created_at, cancel_requested_at IS NOT NULL AS cancel_requested';

/** $1 limit. Returns tasks that were not finished in time. */
export const findOverdue: SqlStatement = {
  name: 'task_find_overdue',
  text: `SELECT ${ENDING} FROM tasks WHERE completed_at IS NULL AND deadline_at <= statement_timestamp()
     ORDER BY deadline_at LIMIT $1`,
};

/** $1 limit. Returns tasks that were canceled while no worker ran them, by a process that died before it could end them. */
export const findCanceling: SqlStatement = {
  name: 'task_find_canceling',
  text: `SELECT ${ENDING} FROM tasks
     WHERE cancel_requested_at IS NOT NULL AND completed_at IS NULL AND state IN ('queued', 'generated')
     ORDER BY cancel_requested_at LIMIT $1`,
};

/**
 * $1 task, $2 account, $3 pools whose engines can stop a run, $4 those whose finished runs nobody bills. Sets the flag only where the
 * cancel can be honored; it keeps the time of the first request. A run that is done and billed is delivered and charged: else a cancel
 * at the right moment would leave its cost to the operator.
 */
export const requestCancel: SqlStatement = {
  name: 'task_request_cancel',
  text: `UPDATE tasks SET cancel_requested_at = least(cancel_requested_at, statement_timestamp())
     WHERE id = $1 AND account_id = $2 AND completed_at IS NULL
       AND (state = 'queued' OR cancel_requested_at IS NOT NULL
            OR pool = ANY (CASE WHEN state = 'generating' THEN $3::text[] ELSE $4::text[] END))
    RETURNING ${ENDING}`,
};

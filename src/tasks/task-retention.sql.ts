import type { SqlStatement } from '../store/statement.ts';

/** $1 limit. Returns tasks whose media has expired, with the keys of their files. */
export const findExpiredMedia: SqlStatement = {
  name: 'task_find_expired_media',
  text: `SELECT t.id, coalesce(array_agg(o.storage_key) FILTER (WHERE o.storage_key IS NOT NULL), '{}') AS keys
      FROM (SELECT id FROM tasks
             WHERE media_deleted_at IS NULL AND media_expires_at IS NOT NULL AND media_expires_at <= statement_timestamp()
             ORDER BY media_expires_at LIMIT $1) t
      LEFT JOIN task_outputs o ON o.task_id = t.id GROUP BY t.id`,
};

/** $1 tasks whose files are gone. If the prompt was kept, it goes with the media. */
export const markMediaDeleted: SqlStatement = {
  name: 'task_mark_media_deleted',
  text: `WITH outputs AS (DELETE FROM task_outputs WHERE task_id = ANY ($1::uuid[]))
    UPDATE tasks SET media_deleted_at = statement_timestamp(), parameters = NULL
     WHERE id = ANY ($1::uuid[]) AND completed_at IS NOT NULL AND media_deleted_at IS NULL`,
};

/** $1 days, $2 limit. Deletes rows that nobody can ask for any more. */
export const deleteOldTasks: SqlStatement = {
  name: 'task_delete_old',
  text: `WITH old AS (
      SELECT id FROM tasks
       WHERE completed_at < statement_timestamp() - $1 * interval '1 day'
         AND (media_deleted_at IS NOT NULL OR media_expires_at IS NULL)
       ORDER BY completed_at LIMIT $2 FOR UPDATE SKIP LOCKED),
    webhooks AS (DELETE FROM webhook_deliveries w USING old WHERE w.task_id = old.id)
    DELETE FROM tasks t USING old WHERE t.id = old.id RETURNING t.id`,
};

/** $1 days, $2 limit. Deletes deliveries of alerts that nobody asks for any more. */
export const deleteOldAlerts: SqlStatement = {
  name: 'alerts_delete_old',
  text: `DELETE FROM webhook_deliveries w USING (
      SELECT id FROM webhook_deliveries
       WHERE task_id IS NULL AND created_at < statement_timestamp() - $1 * interval '1 day'
       ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED) old
    WHERE w.id = old.id RETURNING w.id`,
};

/** $1 task, $2 account. Deletes the task only if it has ended. */
export const deleteTask: SqlStatement = {
  name: 'task_delete',
  text: `WITH gone AS (DELETE FROM tasks WHERE id = $1 AND account_id = $2 AND completed_at IS NOT NULL RETURNING id),
    webhooks AS (DELETE FROM webhook_deliveries w USING gone WHERE w.task_id = gone.id)
    SELECT id FROM gone`,
};

/** $1 days. */
export const forgetSilentWorkers: SqlStatement = {
  name: 'worker_forget_silent',
  text: `WITH gone AS (DELETE FROM workers WHERE seen_at < statement_timestamp() - $1 * interval '1 day')
    DELETE FROM worker_slots WHERE seen_at < statement_timestamp() - $1 * interval '1 day'`,
};

/**
 * $1 tasks and $2 keys of stored files, side by side; $3 ms since the end of a task. Returns the files that no task lists: those of
 * tasks that ended that long ago (`of_ended`), and those of tasks without a row.
 */
export const findUnlisted: SqlStatement = {
  name: 'task_find_unlisted',
  text: `SELECT f.key, t.id IS NOT NULL AS of_ended
      FROM unnest($1::uuid[], $2::text[]) f (task_id, key) LEFT JOIN tasks t ON t.id = f.task_id
     WHERE (t.id IS NULL OR t.completed_at < statement_timestamp() - $3 * interval '1 ms')
       AND NOT EXISTS (SELECT FROM task_outputs o WHERE o.task_id = f.task_id AND o.storage_key = f.key)`,
};

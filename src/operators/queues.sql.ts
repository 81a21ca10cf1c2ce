import type { SqlStatement } from '../store/statement.ts';

/**
 * $1 ms after which a silent worker no longer counts. What is waiting in the database for each queue, dispatched to it or not,
 * and who serves it.
 */
export const queueStandings: SqlStatement = {
  name: 'operator_queue_standings',
  text: `WITH served AS (
      SELECT queue, count(*)::integer AS workers, sum(slots)::integer AS slots
        FROM worker_slots WHERE seen_at > statement_timestamp() - $1 * interval '1 ms' GROUP BY 1),
    waiting AS (
      SELECT CASE state WHEN 'queued' THEN 'generate-' || pool ELSE 'postprocess' END AS queue,
             count(*)::integer AS backlog, min(created_at) AS oldest
        FROM tasks WHERE completed_at IS NULL AND state IN ('queued', 'generated') GROUP BY 1
      UNION ALL
      SELECT 'webhooks', count(*)::integer, min(next_try_at)
        FROM webhook_deliveries WHERE state = 'pending' AND next_try_at <= statement_timestamp() HAVING count(*) > 0)
    SELECT queue, coalesce(backlog, 0) AS backlog, coalesce(workers, 0) AS workers, coalesce(slots, 0) AS slots,
           extract(epoch FROM statement_timestamp() - oldest)::integer AS oldest_seconds
      FROM served FULL JOIN waiting USING (queue)`,
};

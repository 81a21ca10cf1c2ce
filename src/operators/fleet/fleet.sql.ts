import { ATTEMPTS_OF_CALL } from '../../ledger/stored-call.ts';
import type { SqlStatement } from '../../store/statement.ts';

/**
 * $1 ms of silence after which a worker counts as silent. Lists silent workers with tasks; a worker that shut down cleanly has no
 * slots.
 */
export const silentWorkers: SqlStatement = {
  name: 'fleet_silent_workers',
  text: `
    SELECT s.worker, s.seen_at, t.tasks
      FROM (SELECT worker, max(seen_at) AS seen_at FROM worker_slots GROUP BY worker) s
      JOIN (SELECT worker, count(*)::integer AS tasks FROM tasks WHERE state IN ('generating', 'processing') GROUP BY worker) t USING (worker)
     WHERE s.seen_at <= statement_timestamp() - $1 * interval '1 ms' ORDER BY s.worker LIMIT 1000`,
};

/** $1 lowest id of a call, $2 maximum number of calls, $3 start of "just now". Newest calls first. */
export const providersLately: SqlStatement = {
  name: 'fleet_providers',
  text: `
    WITH recent AS MATERIALIZED (
      SELECT g.completed_at, ${ATTEMPTS_OF_CALL} AS attempts FROM generations g WHERE g.id >= $1::uuid ORDER BY g.id DESC LIMIT $2),
    tries AS (
      SELECT r.completed_at, t.provider, t.model, t.outcome, t.said, t."latencyMs" AS latency_ms,
             t.outcome NOT IN ('ok', 'client_closed') AS is_failed
        FROM recent r CROSS JOIN LATERAL jsonb_to_recordset(r.attempts)
             AS t (provider text, model text, outcome text, said text, "latencyMs" double precision)),
    reasons AS (
      SELECT provider, model, jsonb_object_agg(outcome, count) AS failures
        FROM (SELECT provider, model, outcome, count(*)::integer AS count FROM tries WHERE is_failed GROUP BY 1, 2, 3) f GROUP BY 1, 2)
    SELECT t.provider, t.model, count(*)::integer AS attempts, count(*) FILTER (WHERE t.is_failed)::integer AS failed,
           count(*) FILTER (WHERE t.completed_at >= $3)::integer AS attempts_just_now,
           count(*) FILTER (WHERE t.completed_at >= $3 AND t.is_failed)::integer AS failed_just_now,
           round(percentile_disc(0.5) WITHIN GROUP (ORDER BY t.latency_ms) FILTER (WHERE t.outcome = 'ok'))::integer AS latency_p50,
           round(percentile_disc(0.95) WITHIN GROUP (ORDER BY t.latency_ms) FILTER (WHERE t.outcome = 'ok'))::integer AS latency_p95,
           coalesce((SELECT r.failures FROM reasons r WHERE r.provider = t.provider AND r.model = t.model), '{}') AS failures,
           max(t.completed_at) FILTER (WHERE t.is_failed) AS last_failed_at,
           (array_agg(t.said ORDER BY t.completed_at DESC) FILTER (WHERE t.is_failed AND t.said IS NOT NULL))[1] AS last_said
      FROM tries t GROUP BY 1, 2 ORDER BY 1, 2`,
};

/**
 * How fast pools finish tasks. $1 window in ms, $2 maximum number of tasks, newest first. → pool, ended: number of tasks,
 * busy_seconds: time during which any of these tasks or of those still running was being worked on; idle time says nothing about
 * the pace.
 */
export const paceOfPools: SqlStatement = {
  name: 'fleet_pace_of_pools',
  text: `
    WITH ended AS (
      SELECT pool, least(started_at, completed_at) AS started_at, completed_at FROM tasks
       WHERE completed_at > statement_timestamp() - $1 * interval '1 ms' AND started_at IS NOT NULL
       ORDER BY completed_at DESC LIMIT $2),
    spans AS (
      SELECT pool, tstzrange(started_at, completed_at) AS span, true AS is_over FROM ended
      UNION ALL
      SELECT pool, tstzrange(least(started_at, statement_timestamp()), statement_timestamp()), false FROM tasks
       WHERE completed_at IS NULL AND state = 'generating' AND started_at IS NOT NULL),
    pools AS (
      SELECT pool, count(*) FILTER (WHERE is_over)::integer AS ended, range_agg(span) AS busy FROM spans GROUP BY pool)
    SELECT p.pool, p.ended,
           (SELECT coalesce(extract(epoch FROM sum(upper(b) - lower(b))), 0) FROM unnest(p.busy) b WHERE NOT isempty(b))::double precision
             AS busy_seconds
      FROM pools p ORDER BY p.pool`,
};

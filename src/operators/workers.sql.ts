import type { SqlStatement } from '../store/statement.ts';

/**
 * $1 ms after which a silent worker no longer counts, $2 host or NULL. Live workers, and drained hosts without one: the drain
 * still applies when their workers return.
 */
export const listWorkers: SqlStatement = {
  name: 'operator_workers',
  text: `WITH live AS (
      SELECT * FROM workers WHERE seen_at > statement_timestamp() - $1 * interval '1 ms')
    SELECT coalesce(l.host, d.host) AS host, l.worker, l.version, l.queues, l.resting, l.misconfigured, l.running, l.draining,
           l.started_at, l.seen_at, d.actor AS drained_by, d.at AS drained_at
      FROM live l FULL JOIN worker_drains d USING (host)
     WHERE $2::text IS NULL OR coalesce(l.host, d.host) = $2
     ORDER BY 1, 2`,
};

/** $1 host, $2 actor, $3 act for the audit log. Does nothing if it was already drained. */
export const drainHost: SqlStatement = {
  name: 'operator_drain_host',
  text: `WITH drained AS (INSERT INTO worker_drains (host, actor) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING host)
    SELECT host, record_act($3::jsonb, '{}') FROM drained`,
};

/** $1 host, $2 act for the audit log. Does nothing if it was not drained. */
export const resumeHost: SqlStatement = {
  name: 'operator_resume_host',
  text: `WITH resumed AS (DELETE FROM worker_drains WHERE host = $1 RETURNING host)
    SELECT host, record_act($2::jsonb, '{}') FROM resumed`,
};

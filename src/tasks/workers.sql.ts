import type { SqlStatement } from '../store/statement.ts';

/**
 * $1 worker, $2 host, $3 version, $4 queues, $5 resting pools, $6 running tasks, $7 why it drains, or NULL, $8 misconfigured pools.
 * Returns whether the worker's host is drained.
 */
export const reportWorker: SqlStatement = {
  name: 'worker_report',
  text: `WITH reported AS (
      INSERT INTO workers (worker, host, version, queues, resting, running, draining, misconfigured, seen_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, statement_timestamp())
      ON CONFLICT (worker) DO UPDATE
        SET version = excluded.version, queues = excluded.queues, resting = excluded.resting, running = excluded.running,
            draining = excluded.draining, misconfigured = excluded.misconfigured, seen_at = excluded.seen_at)
    SELECT EXISTS (SELECT FROM worker_drains WHERE host = $2) AS drained`,
};

/** $1 worker. */
export const removeWorker: SqlStatement = {
  name: 'worker_remove',
  text: 'DELETE FROM workers WHERE worker = $1',
};

/**
 * $1 ms after which a silent worker no longer counts. Returns pools whose engines an operator has to fix at every worker that
 * serves them.
 */
export const misconfiguredPools: SqlStatement = {
  name: 'worker_misconfigured_pools',
  text: `SELECT DISTINCT p.pool FROM workers w, unnest(w.misconfigured) p (pool)
     WHERE w.seen_at > statement_timestamp() - $1 * interval '1 ms'
       AND NOT EXISTS (
         SELECT FROM worker_slots s
          WHERE s.queue = 'generate-' || p.pool AND s.seen_at > statement_timestamp() - $1 * interval '1 ms')`,
};

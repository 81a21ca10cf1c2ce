import type { Statement } from '../store/statement.ts';

/** $1 worker, $2 host, $3 version, $4 queues, $5 resting pools, $6 running tasks, $7 why it drains, or NULL. Says whether its host is drained. */
export const reportWorker: Statement = {
  name: 'worker_report',
  text: `WITH reported AS (
      INSERT INTO workers (worker, host, version, queues, resting, running, draining)
      VALUES ($1, $2, $3, $4, $5, $6, $7)
      ON CONFLICT (worker) DO UPDATE
        SET version = excluded.version, queues = excluded.queues, resting = excluded.resting, running = excluded.running,
            draining = excluded.draining, seen_at = statement_timestamp())
    SELECT EXISTS (SELECT FROM worker_drains WHERE host = $2) AS drained`,
};

/** $1 worker. */
export const removeWorker: Statement = {
  name: 'worker_remove',
  text: 'DELETE FROM workers WHERE worker = $1',
};

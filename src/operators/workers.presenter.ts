import type { WorkerJson } from './workers.schema.ts';
import type { WorkerRow } from './workers.store.ts';

export function presentWorker(row: WorkerRow): WorkerJson {
  const { host, worker, version, queues, resting, misconfigured, running, draining, drained_by, drained_at } =
    row;
  return {
    host,
    worker,
    version,
    queues: [...(queues ?? [])],
    away: [...(resting ?? [])],
    misconfigured: [...(misconfigured ?? [])],
    running: running ?? 0,
    draining,
    drained_by,
    drained_at: drained_at?.toISOString() ?? null,
    started_at: row.started_at?.toISOString() ?? null,
    seen_at: row.seen_at?.toISOString() ?? null,
  };
}

import { defineRoute, type Route } from '../http/route.ts';
import { OPERATOR_ROUTE } from './operator-access.ts';
import { hostParams, type WorkerJson, workerListResponse } from './workers.schema.ts';
import type { WorkersService } from './workers.service.ts';
import type { WorkerRow } from './workers.store.ts';

/** `/admin/v1/workers`. */
export function workerRoutes(workers: WorkersService): Route[] {
  const change = {
    ...OPERATOR_ROUTE,
    method: 'post',
    params: hostParams,
    response: { status: 200, schema: workerListResponse },
    errors: ['worker_not_found'],
    idempotency: 'natural',
  } as const;
  return [
    defineRoute({
      ...OPERATOR_ROUTE,
      method: 'get',
      path: '/admin/v1/workers',
      operationId: 'listWorkers',
      summary: 'List live workers and drained hosts',
      response: { status: 200, schema: workerListResponse },
      errors: [],
      async handle() {
        return { body: { data: (await workers.list()).map(presentWorker) } };
      },
    }),
    defineRoute({
      ...change,
      path: '/admin/v1/workers/{host}/drain',
      operationId: 'drainHost',
      summary: 'Drain a host: its workers finish running work and take no more',
      async handle({ params, operator, requestId }) {
        const rows = await workers.drain(params.host, { operator, requestId });
        return { body: { data: rows.map(presentWorker) } };
      },
    }),
    defineRoute({
      ...change,
      path: '/admin/v1/workers/{host}/resume',
      operationId: 'resumeHost',
      summary: 'Resume a host: its workers take work again',
      async handle({ params, operator, requestId }) {
        const rows = await workers.resume(params.host, { operator, requestId });
        return { body: { data: rows.map(presentWorker) } };
      },
    }),
  ];
}

function presentWorker(row: WorkerRow): WorkerJson {
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

import { defineRoute, type Route } from '../http/route.ts';
import { OPERATOR_ROUTE } from './operator-access.ts';
import { type QueueJson, queueListResponse, queueParams, queueResponse } from './queues.schema.ts';
import type { QueuesService, StandingQueue } from './queues.service.ts';

/** `/admin/v1/queues`. */
export function queueRoutes(queues: QueuesService): Route[] {
  const change = {
    ...OPERATOR_ROUTE,
    method: 'post',
    params: queueParams,
    response: { status: 200, schema: queueResponse },
    errors: ['queue_not_found', 'service_unavailable'],
    idempotency: 'natural',
  } as const;
  return [
    defineRoute({
      ...OPERATOR_ROUTE,
      method: 'get',
      path: '/admin/v1/queues',
      operationId: 'listQueues',
      summary: 'List the queues with their counts',
      response: { status: 200, schema: queueListResponse },
      errors: ['service_unavailable'],
      async handle() {
        return { body: { data: (await queues.list()).map(presentQueue) } };
      },
    }),
    defineRoute({
      ...change,
      path: '/admin/v1/queues/{name}/pause',
      operationId: 'pauseQueue',
      summary: 'Stop workers from taking jobs of a queue; running jobs finish',
      async handle({ params, operator, requestId }) {
        return { body: { data: presentQueue(await queues.pause(params.name, { operator, requestId })) } };
      },
    }),
    defineRoute({
      ...change,
      path: '/admin/v1/queues/{name}/resume',
      operationId: 'resumeQueue',
      summary: 'Let workers take jobs of a queue again',
      async handle({ params, operator, requestId }) {
        return { body: { data: presentQueue(await queues.resume(params.name, { operator, requestId })) } };
      },
    }),
  ];
}

function presentQueue({ name, paused, restingMs, jobs, standing }: StandingQueue): QueueJson {
  const { backlog, oldest_seconds, workers, slots } = standing;
  return { name, paused, resting_ms: restingMs, backlog, oldest_seconds, workers, slots, jobs };
}

import { z } from 'zod';
import { defineRoute, type Route } from '../http/route.ts';
import { publicId } from '../lib/ids.ts';
import type { UploadState } from './output-uploads.ts';
import type { RemoteRunsService } from './remote-runs.service.ts';
import { UPLOAD_PART_BYTES } from './upload-part.ts';
import { presentHandedOut } from './worker-api.presenter.ts';
import {
  claimBody,
  claimResponse,
  leasesBody,
  leasesResponse,
  outputPartQuery,
  outputResponse,
  outputStateQuery,
  reportBody,
  reportResponse,
  stepBody,
  stepResponse,
} from './worker-api.schema.ts';

const WORKER_ROUTE = { tag: 'Workers', access: 'worker', envelope: 'data' } as const;

/** `/worker/v1`, for workers on hosts without a database. */
export function workerApiRoutes(runs: RemoteRunsService): Route[] {
  return [...taskRoutes(runs), ...hostRoutes(runs), ...outputRoutes(runs)];
}

/** Routes for claiming tasks and reporting their steps. */
function taskRoutes(runs: RemoteRunsService): Route[] {
  return [
    defineRoute({
      ...WORKER_ROUTE,
      method: 'post',
      path: '/worker/v1/claims',
      operationId: 'claimTask',
      summary: 'Wait for a task and claim it',
      body: claimBody,
      response: { status: 200, schema: claimResponse },
      errors: ['concurrency_limit_exceeded'],
      async handle({ worker, body, signal }) {
        const { worker: name, pool, wait_seconds: seconds, loaded = [] } = body;
        const order = { worker: name, pool, loaded, waitMs: seconds * 1_000 };
        const handedOut = await runs.claim(worker, order, signal);
        return { body: { data: { task: handedOut ? presentHandedOut(handedOut) : null } } };
      },
    }),
    defineRoute({
      ...WORKER_ROUTE,
      method: 'post',
      path: '/worker/v1/steps',
      operationId: 'reportStep',
      summary: 'Report a step of a claimed task',
      body: stepBody,
      response: { status: 200, schema: stepResponse },
      errors: [],
      idempotency: 'natural',
      async handle({ worker, body }) {
        return { body: { data: { held: await runs.step(worker, body) } } };
      },
    }),
  ];
}

/** Routes that workers call every few seconds. */
function hostRoutes(runs: RemoteRunsService): Route[] {
  return [
    defineRoute({
      ...WORKER_ROUTE,
      method: 'post',
      path: '/worker/v1/leases',
      operationId: 'renewLeases',
      summary: 'Renew the leases of claimed tasks; send this every 5 seconds',
      body: leasesBody,
      bodyBytesMax: 128 * 1024,
      response: { status: 200, schema: leasesResponse },
      errors: [],
      idempotency: 'natural',
      async handle({ worker, body }) {
        const held = await runs.renew(worker, body.worker, body.leases);
        const data = held.map(({ id, attempt, cancelRequested }) => ({
          task_id: publicId('generation', id),
          attempt,
          canceled: cancelRequested,
        }));
        return { body: { data } };
      },
    }),
    defineRoute({
      ...WORKER_ROUTE,
      method: 'post',
      path: '/worker/v1/reports',
      operationId: 'reportWorker',
      summary: 'Report the state of the worker; send this every 5 seconds',
      body: reportBody,
      response: { status: 200, schema: reportResponse },
      errors: [],
      idempotency: 'natural',
      async handle({ worker, body }) {
        const { away, ...report } = body;
        return { body: { data: { drained: await runs.report(worker, { ...report, resting: away }) } } };
      },
    }),
  ];
}

/** Routes for uploading the files of tasks. */
function outputRoutes(runs: RemoteRunsService): Route[] {
  return [
    defineRoute({
      ...WORKER_ROUTE,
      method: 'get',
      path: '/worker/v1/files',
      operationId: 'getOutput',
      summary: 'Get how much of a file has been uploaded',
      query: outputStateQuery,
      response: { status: 200, schema: outputResponse },
      errors: [],
      async handle({ worker, query }) {
        return { body: { data: presentState(await runs.uploaded(worker, query)) } };
      },
    }),
    defineRoute({
      ...WORKER_ROUTE,
      method: 'patch',
      path: '/worker/v1/files',
      operationId: 'uploadOutput',
      summary: 'Upload the next part of a file; the response says where to continue',
      query: outputPartQuery,
      body: z.instanceof(Buffer),
      bodyFormat: 'raw',
      bodyBytesMax: UPLOAD_PART_BYTES,
      response: { status: 200, schema: outputResponse },
      errors: ['payload_too_large', 'service_unavailable', 'concurrency_limit_exceeded'],
      async handle({ worker, query, body }) {
        const { offset, bytes, sha256, ...output } = query;
        const part = { offset, bytes, sha256, content: body };
        return { body: { data: presentState(await runs.upload(worker, output, part)) } };
      },
    }),
  ];
}

function presentState(state: UploadState | undefined): UploadState & { held: boolean } {
  return { held: state !== undefined, offset: state?.offset ?? 0, complete: state?.complete ?? false };
}

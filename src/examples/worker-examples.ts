import { REQUEST, TASK } from './example-ids.ts';

const WORKER = 'host-1.4711';
const CREATED = '2026-11-02T09:30:00.000Z';
const CLAIMED = {
  task_id: TASK,
  attempt: 1,
  pool: 'local',
  kind: 'image',
  customer: '5f1d3c7a9b2e4d60',
  failures: 0,
  interruptions: 0,
  ended_runs: 0,
  last_failure: null,
  order: { prompt: 'a toll gate at dawn', width: 1024, height: 1024, upstream_model: 'z-image-turbo' },
  seed: '7',
  submitted_at: null,
  reference: null,
  deadline_ms: 3_600_000,
  policy: { attempts: 5, backoff_ms: 1_000, backoff_max_ms: 60_000, timeout_ms: 600_000 },
};

/** Examples for workers on hosts without a database, by schema. */
export const WORKER_EXAMPLES: Readonly<Record<string, unknown>> = {
  WorkerToken: {
    name: 'rented',
    pools: ['local'],
    created_by: 'operator',
    created_at: CREATED,
    last_used_at: CREATED,
    revoked_at: null,
  },
  CreateWorkerToken: { name: 'rented', pools: ['local'] },
  ClaimTask: { worker: WORKER, pool: 'local', wait_seconds: 25, loaded: ['z-image-turbo'] },
  ClaimedTask: CLAIMED,
  RenewLeases: { worker: WORKER, leases: [{ task_id: TASK, attempt: 1, progress: 0.4 }] },
  ReportWorker: { worker: WORKER, slots: { local: 2 }, away: [], running: 1, draining: null },
  ReportStep: {
    worker: WORKER,
    task_id: TASK,
    attempt: 1,
    step: 'generated',
    outputs: [0],
    latency_ms: 1_250,
  },
};

/** Response examples for such workers, by operation. */
export const WORKER_ANSWERS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  createWorkerToken: answer(WORKER_EXAMPLES.WorkerToken, {
    token: 'sk-tgw-4FqT0m8sW2xY6bC1dE3fG5hJ7kL9nP0qR2sT4uV6wX8',
  }),
  claimTask: answer({ task: CLAIMED }),
  renewLeases: answer([{ task_id: TASK, attempt: 1, canceled: false }]),
  reportWorker: answer({ drained: false }),
  reportStep: answer({ held: true }),
  getOutput: answer({ held: true, offset: 4_194_304, complete: false }),
  uploadOutput: answer({ held: true, offset: 8_388_608, complete: false }),
};

function answer(data: unknown, more: object = {}): Record<string, unknown> {
  return { 'application/json': { data, ...more, request_id: REQUEST } };
}

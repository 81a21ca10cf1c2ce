import { publicId } from '../lib/ids.ts';
import { readOrder, storeOrder } from '../tasks/task-parameters.ts';
import type { HandedOut } from './remote-runs.service.ts';
import type { ClaimedTaskJson } from './worker-api.schema.ts';

/** Presents a task to its worker, without its owner and its price. */
export function presentHandedOut({ task, policy, extra, customer }: HandedOut): ClaimedTaskJson {
  return {
    task_id: publicId('generation', task.id),
    attempt: task.attempt,
    pool: task.pool,
    kind: task.kind,
    customer,
    failures: task.failures,
    interruptions: task.interruptions,
    ended_runs: task.endedRuns,
    last_failure: task.lastFailure,
    order: storeOrder(readOrder(task.parameters)),
    ...(extra && { extra: { ...extra } }),
    seed: task.seed.toString(),
    submitted_at: task.engineSubmittedAt?.toISOString() ?? null,
    reference: task.engineReference,
    deadline_ms: task.deadlineMs,
    policy: {
      attempts: policy.attempts,
      backoff_ms: policy.backoffMs,
      backoff_max_ms: policy.backoffMaxMs,
      timeout_ms: policy.timeoutMs,
    },
  };
}

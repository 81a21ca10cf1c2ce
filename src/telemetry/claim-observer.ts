import { Histogram, type Registry } from 'prom-client';
import type { ClaimedTask } from '../tasks/task-claims.store.ts';
import type { ModelMemory } from './model-memory.ts';

const WAIT_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600];

/** Creates the histogram of how long tasks waited for an engine, from submit to their first claim. */
export function createQueueWaitHistogram(registry: Registry): Histogram<'pool'> {
  return new Histogram({
    name: 'tollgate_task_queue_wait_seconds',
    help: 'Time from submit to the first claim, by engine pool',
    labelNames: ['pool'],
    buckets: WAIT_SECONDS,
    registers: [registry],
  });
}

/** Creates the observer, which must be called for every claimed task. */
export function createClaimObserver(
  wait: Histogram<'pool'>,
  models: ModelMemory,
): (task: ClaimedTask) => void {
  return ({ id, model, attempt, pool, startedAt, createdAt }) => {
    models.remember(id, model);
    if (attempt === 1) {
      const waitedMs = startedAt.getTime() - createdAt.getTime();
      wait.observe({ pool }, Math.max(0, waitedMs) / 1_000);
    }
  };
}

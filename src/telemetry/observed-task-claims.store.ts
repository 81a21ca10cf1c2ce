import type pg from 'pg';
import { Histogram, type Registry } from 'prom-client';
import { type ClaimedTask, TaskClaimsStore } from '../tasks/task-claims.store.ts';
import type { LeasedState } from '../tasks/task-state.ts';
import type { ModelMemory } from './model-memory.ts';

const WAIT_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600];

/** How long tasks waited for an engine, from submit to their first claim. */
export function createQueueWaitHistogram(registry: Registry): Histogram<'pool'> {
  return new Histogram({
    name: 'tollgate_task_queue_wait_seconds',
    help: 'Time from submit to the first claim, by engine pool',
    labelNames: ['pool'],
    buckets: WAIT_SECONDS,
    registers: [registry],
  });
}

/** The claims, watched. */
export class ObservedTaskClaims extends TaskClaimsStore {
  readonly #wait: Histogram<'pool'>;
  readonly #models: ModelMemory;

  constructor(pool: pg.Pool, wait: Histogram<'pool'>, models: ModelMemory) {
    super(pool);
    this.#wait = wait;
    this.#models = models;
  }

  override async claim(
    taskId: string,
    to: LeasedState,
    worker: string,
    leaseMs: number,
    pool: string | null = null,
  ): Promise<ClaimedTask | undefined> {
    const task = await super.claim(taskId, to, worker, leaseMs, pool);
    if (task) {
      this.#models.remember(task.id, task.model);
    }
    if (task?.attempt === 1) {
      const waitedMs = task.startedAt.getTime() - task.createdAt.getTime();
      this.#wait.observe({ pool: task.pool }, Math.max(0, waitedMs) / 1_000);
    }
    return task;
  }
}

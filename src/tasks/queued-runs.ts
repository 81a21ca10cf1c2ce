import type { AttemptOutcome } from './generate.types.ts';
import type { LeaseKeeper } from './lease-keeper.ts';
import type { LoadedModels } from './loaded-models.ts';
import type { ModelAffinityClaims } from './model-affinity-claims.ts';
import type { ClaimedTask } from './task-claims.store.ts';

/** The outcome of a job, and the task that it ran if that is not the one it names. */
export interface QueuedOutcome extends AttemptOutcome {
  readonly ranInstead?: string;
}

export interface QueuedRunsParts {
  readonly claims: Pick<ModelAffinityClaims, 'claim'>;
  readonly leases: Pick<LeaseKeeper, 'leaseMs'>;
  readonly loaded: Pick<LoadedModels, 'began' | 'of'>;
  readonly generate: { run(task: ClaimedTask, signal: AbortSignal): Promise<AttemptOutcome> };
  /** Name of this process, for the operator. */
  readonly worker: string;
}

/** Runs tasks in the turns that jobs give them. */
export class QueuedRuns {
  readonly #parts: QueuedRunsParts;

  constructor(parts: QueuedRunsParts) {
    this.#parts = parts;
  }

  /**
   * Makes one attempt at a queued task, or at another one of the pool whose model is loaded here. Repeated calls for the same task
   * are harmless: the claim lets one through. `pool` is the pool that this job is for, null for any. Throws only when the database
   * is away.
   */
  async run(taskId: string, signal: AbortSignal, pool: string | null = null): Promise<QueuedOutcome> {
    const { claims, leases, loaded, generate, worker } = this.#parts;
    const models = pool === null ? undefined : loaded.of(pool);
    const task = await claims.claim({ taskId, worker, leaseMs: leases.leaseMs, pool, loaded: models });
    if (!task) {
      return { result: 'skipped' };
    }
    loaded.began(task);
    const outcome = await generate.run(task, signal);
    return task.id === taskId ? outcome : { ...outcome, ranInstead: task.id };
  }
}

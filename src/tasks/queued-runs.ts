import type { AttemptOutcome } from './generate.types.ts';
import type { LeaseKeeper } from './lease-keeper.ts';
import type { LoadedModels } from './loaded-models.ts';
import type { PreferringClaims } from './preferring-claims.ts';
import type { ClaimedTask } from './task-claims.store.ts';

/** What became of a job, and which task it ran where that is another than the one it names. */
export interface QueuedOutcome extends AttemptOutcome {
  readonly ranInstead?: string;
}

export interface QueuedRunsParts {
  readonly claims: Pick<PreferringClaims, 'claim'>;
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
   * One attempt at a queued task, or at another of the pool whose model is loaded here. Any number of calls for the same task is harmless: the
   * claim lets one through. `pool`: the one that this job is for, null: any. Throws only when the database is away.
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

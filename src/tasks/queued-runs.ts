import type { GenerateService } from './generate.service.ts';
import type { AttemptOutcome } from './generate.types.ts';
import type { LeaseKeeper } from './lease-keeper.ts';
import type { TaskClaimsStore } from './task-claims.store.ts';

/** Runs the tasks that jobs name. */
export class QueuedRuns {
  readonly #claims: Pick<TaskClaimsStore, 'claim'>;
  readonly #leases: Pick<LeaseKeeper, 'leaseMs'>;
  readonly #generate: Pick<GenerateService, 'run'>;
  readonly #worker: string;

  /** `worker`: name of this process, for the operator. */
  constructor(
    claims: Pick<TaskClaimsStore, 'claim'>,
    leases: Pick<LeaseKeeper, 'leaseMs'>,
    generate: Pick<GenerateService, 'run'>,
    worker: string,
  ) {
    this.#claims = claims;
    this.#leases = leases;
    this.#generate = generate;
    this.#worker = worker;
  }

  /**
   * One attempt at a queued task. Any number of calls for the same task is harmless: the claim lets one through. `pool`: the one that
   * this job is for, null: any. Throws only when the database is away.
   */
  async run(taskId: string, signal: AbortSignal, pool: string | null = null): Promise<AttemptOutcome> {
    const task = await this.#claims.claim(taskId, 'generating', this.#worker, this.#leases.leaseMs, pool);
    return task ? await this.#generate.run(task, signal) : { result: 'skipped' };
  }
}

import type { TaskAffinityStore } from './task-affinity.store.ts';
import type { ClaimedTask, TaskClaimsStore } from './task-claims.store.ts';

export interface ClaimTurn {
  /** The task whose turn it is. */
  readonly taskId: string;
  readonly worker: string;
  readonly leaseMs: number;
  /** The pool that the worker serves; null for any. */
  readonly pool: string | null;
  /** Models that the worker's engine has loaded for the pool; undefined if that engine loads no models. */
  readonly loaded: readonly string[] | undefined;
}

/** Ms for which a task whose turn has come lets others go first: about as long as it takes to load a model. */
const PATIENCE_MS = 20_000;
/** Searches for a task before a turn is left unused: the relay resends what still waits. */
const LOOKS_MAX = 3;

/**
 * Claims tasks for workers that have a model loaded. A turn is not tied to its task: among the few tasks whose turn has come, the
 * worker gets one whose model it has loaded, so that models are loaded less often. A task that was passed over gets the next turn
 * that suits it, and any turn once its patience has ended.
 */
export class ModelAffinityClaims {
  readonly #claims: Pick<TaskClaimsStore, 'claim'>;
  readonly #affinity: Pick<TaskAffinityStore, 'prefer'>;
  readonly #patienceMs: number;

  constructor(
    claims: Pick<TaskClaimsStore, 'claim'>,
    affinity: Pick<TaskAffinityStore, 'prefer'>,
    patienceMs = PATIENCE_MS,
  ) {
    this.#claims = claims;
    this.#affinity = affinity;
    this.#patienceMs = patienceMs;
  }

  /** Claims the task, or another in its place, for generating; undefined when none is available. */
  async claim({ taskId, worker, leaseMs, pool, loaded }: ClaimTurn): Promise<ClaimedTask | undefined> {
    const claim = (id: string) => this.#claims.claim(id, 'generating', worker, leaseMs, pool);
    if (pool === null || loaded === undefined) {
      return await claim(taskId);
    }
    if (loaded.length === 0) {
      // nothing to prefer: takes the task whose turn it is, unless it already ran in another's turn
      const own = await claim(taskId);
      if (own) {
        return own;
      }
    }
    for (let looks = 0; looks < LOOKS_MAX; looks += 1) {
      const candidates = await this.#affinity.prefer(taskId, pool, loaded, this.#patienceMs);
      if (candidates.length === 0) {
        return undefined;
      }
      for (const candidate of candidates) {
        const task = await claim(candidate);
        if (task) {
          return task;
        }
      }
    }
    return undefined;
  }
}

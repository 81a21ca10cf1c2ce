import type { EngineRegistry } from '../engines/registry.ts';
import type { EngineRests } from './engine-rests.ts';
import type { ClaimedRun } from './task-claims.store.ts';
import { readOrder } from './task-parameters.ts';

interface PoolMemory {
  /** The models of the last runs, the latest last, each once. */
  last: readonly string[];
  /** Whether the pool has been asked for more than one model. */
  isMixed: boolean;
}

/**
 * The models that this process's engines ran last, one per slot of a pool: what they most likely have in memory. A guess that costs a
 * model's loading where it is wrong. Hosted engines and those without models have none.
 */
export class LoadedModels {
  readonly #engines: Pick<EngineRegistry, 'find' | 'slots'>;
  readonly #pools = new Map<string, PoolMemory>();

  /** What an engine had loaded is gone when it goes away. */
  constructor(engines: Pick<EngineRegistry, 'find' | 'slots'>, rests: Pick<EngineRests, 'onChange'>) {
    this.#engines = engines;
    rests.onChange((pool, isResting) => {
      if (isResting) {
        this.#pools.delete(pool);
      }
    });
  }

  /** The task begins on its pool's engine. */
  began({ pool, parameters }: Pick<ClaimedRun, 'pool' | 'parameters'>): void {
    if (!this.#keepsModels(pool)) {
      return;
    }
    const model = readOrder(parameters).upstreamModel;
    const { last, isMixed } = this.#pools.get(pool) ?? { last: [], isMixed: false };
    const others = last.filter((one) => one !== model);
    this.#pools.set(pool, {
      last: [...others, model].slice(-Math.max(1, this.#engines.slots(pool))),
      isMixed: isMixed || others.length > 0,
    });
  }

  /**
   * The models that the pool's engine most likely has loaded; none where it ran nothing else so far than one model, and undefined for an
   * engine to which all models are alike.
   */
  of(pool: string): readonly string[] | undefined {
    if (!this.#keepsModels(pool)) {
      return undefined;
    }
    const memory = this.#pools.get(pool);
    return memory?.isMixed ? memory.last : [];
  }

  #keepsModels(pool: string): boolean {
    const { paid = true, algorithmic = false } = this.#engines.find(pool)?.capabilities ?? {};
    return !paid && !algorithmic;
  }
}

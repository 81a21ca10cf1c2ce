import type { EngineRegistry } from '../engines/registry.ts';
import type { EngineRests } from './engine-rests.ts';
import type { ClaimedRun } from './task-claims.store.ts';
import { readOrder } from './task-parameters.ts';

interface PoolMemory {
  /** The models of the last runs, each once, the latest last. */
  last: readonly string[];
  /** Whether the pool has been asked for more than one model. */
  isMixed: boolean;
}

/**
 * The models that this process's engines ran last, one per slot of a pool: the ones they most likely have in memory. A wrong guess
 * costs the loading of a model. Hosted engines and engines without models have none.
 */
export class LoadedModels {
  readonly #engines: Pick<EngineRegistry, 'find' | 'slots'>;
  readonly #pools = new Map<string, PoolMemory>();

  /** Forgets a pool's models when its engine goes away. */
  constructor(engines: Pick<EngineRegistry, 'find' | 'slots'>, rests: Pick<EngineRests, 'onChange'>) {
    this.#engines = engines;
    rests.onChange((pool, isResting) => {
      if (isResting) {
        this.#pools.delete(pool);
      }
    });
  }

  /** Records that the task begins on its pool's engine. */
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
   * Returns the models that the pool's engine most likely has loaded: none if it has run only one model so far, and undefined if
   * its engine loads no models.
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

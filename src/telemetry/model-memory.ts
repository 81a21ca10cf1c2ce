import { LruMap } from '../lib/lru-map.ts';

const ENTRIES_MAX = 20_000;

/** Remembers the model of a hold from its reservation to its settlement, which does not name it. */
export class ModelMemory {
  readonly #models = new LruMap<string, string>(ENTRIES_MAX);

  remember(holdId: string, model: string): void {
    this.#models.set(holdId, model);
  }

  /** Returns the model's public id and forgets it; `unknown` for a hold of another process. */
  recall(holdId: string): string {
    const model = this.#models.get(holdId) ?? 'unknown';
    this.#models.delete(holdId);
    return model;
  }
}

import { LruMap } from '../lib/lru-map.ts';

const ENTRIES_MAX = 20_000;

/** Which model a hold is for, between its reservation and its settlement, which does not say. */
export class ModelMemory {
  readonly #models = new LruMap<string, string>(ENTRIES_MAX);

  remember(holdId: string, model: string): void {
    this.#models.set(holdId, model);
  }

  /** The model's public id, which is forgotten then; `unknown` for a hold of another process. */
  recall(holdId: string): string {
    const model = this.#models.get(holdId) ?? 'unknown';
    this.#models.delete(holdId);
    return model;
  }
}

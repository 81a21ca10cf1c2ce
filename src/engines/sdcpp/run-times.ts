import { LruMap } from '../../lib/lru-map.ts';
import type { EngineRequest } from '../engine.types.ts';

/** Most of the bar while nobody knows better. */
const PROGRESS_MAX = 0.95;
/** Runs and sizes that are remembered. */
const ENTRIES_MAX = 1_000;

/** How long runs take on a server that does not say how far one is: as long as the last one like it. */
export class RunTimes {
  readonly #now: () => number;
  readonly #begun = new LruMap<string, number>(ENTRIES_MAX);
  readonly #lastMs = new LruMap<string, number>(ENTRIES_MAX);

  /** `now`: ms that rise. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** 0–1 of a run that goes on, from the first time it was seen to; undefined without one like it before. */
  progress(reference: string, request: EngineRequest): number | undefined {
    const begunAt = this.#begun.get(reference) ?? this.#now();
    this.#begun.set(reference, begunAt);
    const lastMs = this.#lastMs.get(likenessOf(request));
    return lastMs === undefined
      ? undefined
      : Math.min((this.#now() - begunAt) / Math.max(lastMs, 1), PROGRESS_MAX);
  }

  /** The run has ended; well: the next one like it will take as long. */
  ended(reference: string, request: EngineRequest, isFine: boolean): void {
    const begunAt = this.#begun.get(reference);
    this.#begun.delete(reference);
    if (isFine && begunAt !== undefined) {
      this.#lastMs.set(likenessOf(request), this.#now() - begunAt);
    }
  }
}

function likenessOf({ kind, model, width, height, steps, seconds }: EngineRequest): string {
  return [kind, model, width, height, steps, seconds].join(' ');
}

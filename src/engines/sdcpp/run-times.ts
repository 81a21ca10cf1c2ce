import { LruMap } from '../../lib/lru-map.ts';
import type { EngineRequest } from '../engine.types.ts';

/** Upper limit of the estimated progress. */
const PROGRESS_MAX = 0.95;
/** Maximum number of runs, and of durations, that are remembered. */
const ENTRIES_MAX = 1_000;

/** Estimates the progress of runs on a server that does not report it: a run is assumed to take as long as the last similar one. */
export class RunTimes {
  readonly #now: () => number;
  readonly #begun = new LruMap<string, number>(ENTRIES_MAX);
  readonly #lastMs = new LruMap<string, number>(ENTRIES_MAX);

  /** `now` returns a monotonic time in ms. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Returns the estimated progress (0–1) of a running run, counted from when it was first seen running; undefined without an earlier
   * similar run.
   */
  progress(reference: string, request: EngineRequest): number | undefined {
    const begunAt = this.#begun.get(reference) ?? this.#now();
    this.#begun.set(reference, begunAt);
    const lastMs = this.#lastMs.get(similarityKey(request));
    return lastMs === undefined
      ? undefined
      : Math.min((this.#now() - begunAt) / Math.max(lastMs, 1), PROGRESS_MAX);
  }

  /** Records that a run has ended. If it succeeded, its duration becomes the estimate for similar runs. */
  ended(reference: string, request: EngineRequest, isFine: boolean): void {
    const begunAt = this.#begun.get(reference);
    this.#begun.delete(reference);
    if (isFine && begunAt !== undefined) {
      this.#lastMs.set(similarityKey(request), this.#now() - begunAt);
    }
  }
}

function similarityKey({ kind, model, width, height, steps, seconds }: EngineRequest): string {
  return [kind, model, width, height, steps, seconds].join(' ');
}

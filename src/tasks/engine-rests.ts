import type { EnginePools } from '../engines/engine.types.ts';
import type { Logger } from '../lib/logger.ts';
import { pause } from '../lib/pause.ts';

export interface RestClocks {
  /** Ms between two questions after an engine that is away. */
  readonly probeMs: number;
  /** Ms an engine has to answer one. */
  readonly answerMs: number;
}

export const REST_CLOCKS: RestClocks = { probeMs: 2_000, answerMs: 5_000 };

/** Called when a pool of this process rests or works again. */
export type RestListener = (pool: string, rests: boolean) => void;

/**
 * The pools whose engine is away from this process: nothing is taken for them here until it answers again. Other hosts go on, so the
 * tasks that wait lose time only where no host has the engine.
 */
export class EngineRests {
  readonly #engines: EnginePools;
  readonly #log: Logger;
  readonly #clocks: RestClocks;
  readonly #closing = new AbortController();
  readonly #resting = new Set<string>();
  readonly #listeners = new Set<RestListener>();

  constructor(engines: EnginePools, log: Logger, clocks: RestClocks = REST_CLOCKS) {
    this.#engines = engines;
    this.#log = log;
    this.#clocks = clocks;
  }

  isResting(pool: string): boolean {
    return this.#resting.has(pool);
  }

  /** Calls the listener at each change until the returned function is called. */
  onChange(listener: RestListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Whether the pool's engine can take work, as it says just now. An engine that cannot be asked always can. */
  async isReady(pool: string): Promise<boolean> {
    const engine = this.#engines.find(pool);
    if (!engine?.isReady) {
      return true;
    }
    const signal = AbortSignal.any([AbortSignal.timeout(this.#clocks.answerMs), this.#closing.signal]);
    return await engine.isReady(signal).catch(() => false);
  }

  /** Lets the pool rest if its engine is not there yet: for a process that is about to serve it. */
  async restUntilReady(pool: string): Promise<void> {
    if (!(await this.isReady(pool))) {
      this.begin(pool);
    }
  }

  /** The pool rests until its engine answers. */
  begin(pool: string): void {
    if (this.#resting.has(pool) || this.#closing.signal.aborted) {
      return;
    }
    this.#resting.add(pool);
    this.#log.warn({ pool }, 'the engine is away: this worker takes no tasks for it until it answers');
    this.#tell(pool, true);
    void this.#awaitReady(pool);
  }

  /** Asks no more. */
  close(): void {
    this.#closing.abort();
    this.#listeners.clear();
  }

  async #awaitReady(pool: string): Promise<void> {
    const beganAt = performance.now();
    const { signal } = this.#closing;
    do {
      await pause(this.#clocks.probeMs, signal);
    } while (!(signal.aborted || (await this.isReady(pool))));
    if (!signal.aborted) {
      this.#resting.delete(pool);
      const awayMs = Math.round(performance.now() - beganAt);
      this.#log.info({ pool, awayMs }, 'the engine answers again');
      this.#tell(pool, false);
    }
  }

  #tell(pool: string, rests: boolean): void {
    for (const listener of this.#listeners) {
      listener(pool, rests);
    }
  }
}

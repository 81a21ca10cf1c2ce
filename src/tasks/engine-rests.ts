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

/** Ms an engine has to say what it lacks. */
const LOOK_OVER_MS = 30_000;

/** Called when a pool of this process rests or works again. */
export type RestListener = (pool: string, rests: boolean) => void;

/** Why a pool rests: its engine does not answer, or refuses everything until an operator mends it. */
type RestReason = 'away' | 'misconfigured';

/**
 * The pools whose engine is of no use to this process: nothing is taken for them here until it answers again, or has been mended. Other
 * hosts go on, so the tasks that wait lose time only where no host has the engine.
 */
export class EngineRests {
  readonly #engines: EnginePools;
  readonly #log: Logger;
  readonly #clocks: RestClocks;
  readonly #closing = new AbortController();
  readonly #resting = new Map<string, RestReason>();
  /** Ends the pauses of engines that were misconfigured. */
  #mended = new AbortController();
  readonly #listeners = new Set<RestListener>();
  /** Whether their engines were asked. */
  readonly #served = new Map<string, boolean>();

  constructor(engines: EnginePools, log: Logger, clocks: RestClocks = REST_CLOCKS) {
    this.#engines = engines;
    this.#log = log;
    this.#clocks = clocks;
  }

  /** The pools that this process serves, once their engines were asked for the first time. */
  get served(): string[] {
    return [...this.#served].filter(([, wasAsked]) => wasAsked).map(([pool]) => pool);
  }

  isResting(pool: string): boolean {
    return this.#resting.has(pool);
  }

  /** Whether it rests because an operator has something to mend. */
  isMisconfigured(pool: string): boolean {
    return this.#resting.get(pool) === 'misconfigured';
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

  /** Lets the pool rest if its engine is not there yet, else looks it over: for a process that is about to serve it. */
  async restUntilReady(pool: string): Promise<void> {
    this.#served.set(pool, false);
    const isReady = await this.isReady(pool);
    if (this.#served.has(pool)) {
      this.#served.set(pool, true);
    }
    if (isReady) {
      await this.#lookOver(pool);
    } else {
      this.begin(pool);
    }
  }

  /** The pool is not served here any more. */
  leave(pool: string): void {
    this.#served.delete(pool);
  }

  /** The pool rests until its engine answers. */
  begin(pool: string): void {
    if (this.#rest(pool, 'away')) {
      this.#log.warn({ pool }, 'the engine is away: this worker takes no tasks for it until it answers');
      void this.#awaitReady(pool);
    }
  }

  /** The pool rests for that long: its engine answers, but refuses everything. What is taken next tries whether it was mended. */
  pauseMisconfigured(pool: string, milliseconds: number): void {
    if (this.#rest(pool, 'misconfigured')) {
      this.#log.error(
        { pool, pauseMs: milliseconds },
        'the engine refuses every run until an operator mends it: this worker takes no tasks for it meanwhile',
      );
      void this.#awaitMended(pool, milliseconds);
    }
  }

  /** The settings have changed: pools that rest for them take work again. */
  retryMisconfigured(): void {
    this.#mended.abort();
    this.#mended = new AbortController();
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
      const awayMs = Math.round(performance.now() - beganAt);
      this.#log.info({ pool, awayMs }, 'the engine answers again');
      this.#resume(pool);
      await this.#lookOver(pool);
    }
  }

  /** Tells the operator what the engine lacks, before an order finds out. A hint only: whether it can be had or not, orders are tried. */
  async #lookOver(pool: string): Promise<void> {
    const signal = AbortSignal.any([AbortSignal.timeout(LOOK_OVER_MS), this.#closing.signal]);
    try {
      const mistakes = (await this.#engines.find(pool)?.findMistakes?.(signal)) ?? [];
      if (mistakes.length > 0) {
        this.#log.error(
          { pool },
          `the engine lacks what its entry in tollgate.yaml needs: ${mistakes.join('; ')}`,
        );
      }
    } catch (error) {
      this.#log.debug({ error, pool }, 'the engine could not be asked what it lacks');
    }
  }

  async #awaitMended(pool: string, milliseconds: number): Promise<void> {
    const { signal } = this.#closing;
    await pause(milliseconds, AbortSignal.any([signal, this.#mended.signal]));
    if (!signal.aborted) {
      this.#resume(pool);
    }
  }

  /** False where it rests already. */
  #rest(pool: string, reason: RestReason): boolean {
    if (this.#resting.has(pool) || this.#closing.signal.aborted) {
      return false;
    }
    this.#resting.set(pool, reason);
    this.#tell(pool, true);
    return true;
  }

  #resume(pool: string): void {
    this.#resting.delete(pool);
    this.#tell(pool, false);
  }

  #tell(pool: string, rests: boolean): void {
    for (const listener of this.#listeners) {
      listener(pool, rests);
    }
  }
}

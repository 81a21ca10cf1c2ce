import type { EnginePools } from '../engines/engine.types.ts';
import type { Logger } from '../lib/logger.ts';
import { pause } from '../lib/pause.ts';

export interface RestTimings {
  /** Ms between two checks of an engine that is away. */
  readonly probeMs: number;
  /** Ms that an engine has to answer a check. */
  readonly answerMs: number;
}

export const REST_TIMINGS: RestTimings = { probeMs: 2_000, answerMs: 5_000 };

/** Ms that an engine has to report what it lacks. */
const LOOK_OVER_MS = 30_000;

/** Called when a pool of this process starts to rest or works again. */
export type RestListener = (pool: string, rests: boolean) => void;

/** Why a pool rests: its engine does not answer, or rejects everything until an operator fixes it. */
type RestReason = 'away' | 'misconfigured';

/**
 * The pools that rest in this process because their engine is of no use to it: no tasks are taken for them here until the engine
 * answers again or has been fixed. Other hosts continue, so waiting tasks lose time only if no host has the engine.
 */
export class EngineRests {
  readonly #engines: EnginePools;
  readonly #log: Logger;
  readonly #clocks: RestTimings;
  readonly #closing = new AbortController();
  readonly #resting = new Map<string, RestReason>();
  /** Ends the rests of misconfigured engines. */
  #mended = new AbortController();
  readonly #listeners = new Set<RestListener>();
  /** The pools served here; the value says whether their engine has been asked yet. */
  readonly #served = new Map<string, boolean>();

  constructor(engines: EnginePools, log: Logger, clocks: RestTimings = REST_TIMINGS) {
    this.#engines = engines;
    this.#log = log;
    this.#clocks = clocks;
  }

  /** Pools that this process serves and whose engine has been asked at least once. */
  get served(): string[] {
    return [...this.#served].filter(([, wasAsked]) => wasAsked).map(([pool]) => pool);
  }

  isResting(pool: string): boolean {
    return this.#resting.has(pool);
  }

  /** Whether the pool rests because an operator has to fix something. */
  isMisconfigured(pool: string): boolean {
    return this.#resting.get(pool) === 'misconfigured';
  }

  /** Calls the listener on each change until the returned function is called. */
  onChange(listener: RestListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Asks the pool's engine whether it can take work now. An engine that cannot be asked always can. */
  async isReady(pool: string): Promise<boolean> {
    const engine = this.#engines.find(pool);
    if (!engine?.isReady) {
      return true;
    }
    const signal = AbortSignal.any([AbortSignal.timeout(this.#clocks.answerMs), this.#closing.signal]);
    return await engine.isReady(signal).catch(() => false);
  }

  /** Lets the pool rest if its engine is not there yet, else checks what it lacks. For a process that is about to serve the pool. */
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

  /** Records that the pool is no longer served here. */
  leave(pool: string): void {
    this.#served.delete(pool);
  }

  /** Lets the pool rest until its engine answers. */
  begin(pool: string): void {
    if (this.#rest(pool, 'away')) {
      this.#log.warn({ pool }, 'the engine is away: this worker takes no tasks for it until it answers');
      void this.#awaitReady(pool);
    }
  }

  /** Lets the pool rest for that long: its engine answers, but rejects everything. The next task shows whether it has been fixed. */
  pauseMisconfigured(pool: string, milliseconds: number): void {
    if (this.#rest(pool, 'misconfigured')) {
      this.#log.error(
        { pool, pauseMs: milliseconds },
        'the engine rejects every run until an operator fixes it: this worker takes no tasks for it meanwhile',
      );
      void this.#awaitMended(pool, milliseconds);
    }
  }

  /** Ends the rests of misconfigured pools, because the settings have changed. */
  retryMisconfigured(): void {
    this.#mended.abort();
    this.#mended = new AbortController();
  }

  /** Stops all checks. */
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

  /** Tells the operator what the engine lacks before an order runs into it. Only a hint: orders are tried in any case. */
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
      this.#log.debug({ error, pool }, 'could not check what the engine lacks');
    }
  }

  async #awaitMended(pool: string, milliseconds: number): Promise<void> {
    const { signal } = this.#closing;
    await pause(milliseconds, AbortSignal.any([signal, this.#mended.signal]));
    if (!signal.aborted) {
      this.#resume(pool);
    }
  }

  /** Returns false if the pool already rests. */
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

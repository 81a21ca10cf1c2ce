/** Why a call ended before its answer was complete. */
export type Interruption = 'timeout' | 'aborted' | 'other';

/** The clocks of one call: one for all of it, one for the phase it is in. The first to run out aborts the call. */
export class UpstreamClocks {
  readonly #controller = new AbortController();
  readonly #parent: AbortSignal | undefined;
  readonly #graceMs: number;
  readonly #total: NodeJS.Timeout;
  readonly #onParentAbort = () => this.#beginGrace();
  #phase: NodeJS.Timeout | undefined;
  #grace: NodeJS.Timeout | undefined;
  #timedOut = false;

  /** `graceMs`: how long the call may still finish after the parent signal aborted. */
  constructor(parent: AbortSignal | undefined, totalMs: number, graceMs = 0) {
    this.#parent = parent;
    this.#graceMs = graceMs;
    this.#total = setTimeout(() => this.#expire(), totalMs);
    parent?.addEventListener('abort', this.#onParentAbort, { once: true });
    if (parent?.aborted) {
      this.#controller.abort();
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Begins a phase that must end within `ms`; ends the one before. */
  enter(ms: number): void {
    clearTimeout(this.#phase);
    this.#phase = setTimeout(() => this.#expire(), ms);
  }

  /** Gives the current phase its whole time again: something arrived. */
  touch(): void {
    this.#phase?.refresh();
  }

  /** Releases the timers and lets go of the parent signal. Idempotent. */
  stop(): void {
    clearTimeout(this.#total);
    clearTimeout(this.#phase);
    clearTimeout(this.#grace);
    this.#parent?.removeEventListener('abort', this.#onParentAbort);
  }

  /** What ended the call: our clock, our caller, or something else. */
  get interruption(): Interruption {
    if (this.#timedOut) {
      return 'timeout';
    }
    return this.#parent?.aborted ? 'aborted' : 'other';
  }

  #beginGrace(): void {
    if (this.#graceMs === 0) {
      this.#controller.abort();
      return;
    }
    this.#grace = setTimeout(() => this.#controller.abort(), this.#graceMs);
  }

  #expire(): void {
    this.#timedOut = true;
    this.#controller.abort();
  }
}

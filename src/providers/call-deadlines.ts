import { StopController, type StopSignal } from '../lib/stop-signal.ts';
import { ProviderFailure } from './provider-failure.ts';

/** The clocks of one upstream call: one total, one for the phase it is in. The first to run out aborts the call. */
export class CallDeadlines {
  readonly #controller = new StopController();
  readonly #parent: StopSignal;
  readonly #total: NodeJS.Timeout;
  readonly #onParentAbort = () => this.#controller.abort();
  #phase: NodeJS.Timeout | undefined;
  #paused = false;
  #timedOut = false;

  constructor(parent: StopSignal, totalMs: number) {
    this.#parent = parent;
    this.#total = setTimeout(() => this.#expire(), totalMs);
    parent.addEventListener('abort', this.#onParentAbort, { once: true });
    if (parent.aborted) {
      this.#controller.abort();
    }
  }

  /** Aborts when the call is to end. */
  get signal(): StopController {
    return this.#controller;
  }

  /** Begins a phase that must end within `ms`; ends the one before. */
  enter(ms: number): void {
    clearTimeout(this.#phase);
    this.#phase = setTimeout(() => this.#expirePhase(), ms);
  }

  /** Gives the current phase its whole time again: something arrived. */
  touch(): void {
    this.#phase?.refresh();
  }

  /** The consumer is busy with what it has: the provider is not to blame for the silence. */
  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    this.touch();
  }

  /** Releases the timers and lets go of the parent signal. Idempotent. */
  stop(): void {
    clearTimeout(this.#total);
    clearTimeout(this.#phase);
    this.#parent.removeEventListener('abort', this.#onParentAbort);
  }

  /** Ends the call without an error of its own: nobody wants the rest. */
  abandon(): void {
    this.stop();
    this.#controller.abort();
  }

  /** What an error thrown by the call really was: our clock, our caller, or `otherwise`. */
  explain(error: unknown, otherwise: 'unreachable' | 'interrupted'): ProviderFailure {
    if (this.#timedOut) {
      return new ProviderFailure('timeout');
    }
    if (this.#parent.aborted) {
      return new ProviderFailure('aborted');
    }
    return error instanceof ProviderFailure ? error : new ProviderFailure(otherwise, { cause: error });
  }

  #expirePhase(): void {
    if (!this.#paused) {
      this.#expire();
    }
  }

  #expire(): void {
    this.#timedOut = true;
    this.#controller.abort();
  }
}

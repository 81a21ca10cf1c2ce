import { StopController, type StopSignal } from '../lib/stop-signal.ts';
import { TransportError, transportErrorOf } from './transport-error.ts';

/**
 * The timeouts of one call: one for the total time spent waiting for the other side, one for the current phase. The first to expire
 * aborts the call. Time in which the consumer is busy counts toward neither, so a slow reader does not look like a slow server.
 */
export class CallTimeouts {
  readonly #controller = new StopController();
  readonly #totalMs: number;
  readonly #parent: StopSignal | undefined;
  readonly #graceMs: number;
  readonly #startedAt = performance.now();
  readonly #onParentAbort = () => this.#beginGrace();
  #total: NodeJS.Timeout;
  #phase: NodeJS.Timeout | undefined;
  #grace: NodeJS.Timeout | undefined;
  #pausedMs = 0;
  #pausedAt = 0;
  #paused = false;
  #timedOut = false;

  /** `parent`: a signal whose abort ends the call after `graceMs`. */
  constructor(totalMs: number, parent?: StopSignal, graceMs = 0) {
    this.#totalMs = totalMs;
    this.#parent = parent;
    this.#graceMs = graceMs;
    this.#total = setTimeout(() => this.#expireTotal(), totalMs);
    parent?.addEventListener('abort', this.#onParentAbort, { once: true });
    if (parent?.aborted) {
      this.#controller.abort();
    }
  }

  /** Aborts when the call must end. */
  get signal(): StopController {
    return this.#controller;
  }

  /** Starts a phase that must end within `ms`, and ends the previous one. */
  enter(ms: number): void {
    clearTimeout(this.#phase);
    this.#phase = setTimeout(() => this.#expirePhase(), ms);
  }

  /** Restarts the timeout of the current phase because something arrived. */
  touch(): void {
    this.#phase?.refresh();
  }

  /** Stops counting time while the consumer is busy: the other side is not to blame for the silence. */
  pause(): void {
    this.#paused = true;
    this.#pausedAt = performance.now();
  }

  resume(): void {
    if (this.#paused) {
      this.#pausedMs += performance.now() - this.#pausedAt;
      this.#paused = false;
    }
    this.touch();
  }

  /** Clears the timers and detaches from the parent signal. Idempotent. */
  stop(): void {
    clearTimeout(this.#total);
    clearTimeout(this.#phase);
    clearTimeout(this.#grace);
    this.#parent?.removeEventListener('abort', this.#onParentAbort);
  }

  /** Ends the call without an error because nobody wants the rest. */
  abandon(): void {
    this.stop();
    this.#controller.abort();
  }

  /** Returns the actual cause of an error thrown by the call: a TransportError, or the reason of the aborted parent. */
  explain(error: unknown): unknown {
    if (error instanceof TransportError && error.reason !== 'interrupted') {
      return error;
    }
    if (this.#timedOut) {
      return new TransportError('timeout', { sent: true, cause: error });
    }
    if (this.#parent?.aborted) {
      return this.#parent.reason ?? error;
    }
    return transportErrorOf(error);
  }

  #beginGrace(): void {
    if (this.#graceMs === 0) {
      this.#controller.abort();
      return;
    }
    this.#grace = setTimeout(() => this.#controller.abort(), this.#graceMs);
  }

  #expireTotal(): void {
    const now = performance.now();
    const pausedMs = this.#pausedMs + (this.#paused ? now - this.#pausedAt : 0);
    const leftMs = this.#totalMs - (now - this.#startedAt - pausedMs);
    if (leftMs < 1) {
      this.#expire();
    } else {
      this.#total = setTimeout(() => this.#expireTotal(), leftMs);
    }
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

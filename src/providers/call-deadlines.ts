import { StopController, type StopSignal } from '../lib/stop-signal.ts';
import { ProviderFailure } from './provider-failure.ts';

/**
 * The clocks of one upstream call: one for all the time that is spent waiting for the provider, one for the phase it is in. The
 * first to run out aborts the call. Time in which the consumer is busy counts in neither: a slow reader is no slow provider.
 */
export class CallDeadlines {
  readonly #controller = new StopController();
  readonly #parent: StopSignal;
  readonly #totalMs: number;
  readonly #startedAt = performance.now();
  #total: NodeJS.Timeout;
  #pausedMs = 0;
  #pausedAt = 0;
  readonly #onParentAbort = () => this.#controller.abort();
  #phase: NodeJS.Timeout | undefined;
  #paused = false;
  #timedOut = false;

  constructor(parent: StopSignal, totalMs: number) {
    this.#parent = parent;
    this.#totalMs = totalMs;
    this.#total = setTimeout(() => this.#expireTotal(), totalMs);
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
    this.#pausedAt = performance.now();
  }

  resume(): void {
    if (this.#paused) {
      this.#pausedMs += performance.now() - this.#pausedAt;
      this.#paused = false;
    }
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
    if (error instanceof ProviderFailure) {
      return error;
    }
    const said = unsentBecause(error);
    return new ProviderFailure(otherwise, { cause: error, unsent: said !== undefined, said });
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

/** Codes of errors that come before a connection carries anything: of the name, the address, the handshake. */
const UNSENT =
  /^(?:UND_ERR_CONNECT_TIMEOUT|ENOTFOUND|EAI_\w+|ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|CERT_\w+|ERR_TLS_\w+|ERR_SSL_\w+|UNABLE_TO_\w+|SELF_SIGNED_\w+|DEPTH_ZERO_\w+)$/;

/** Why the request never left, in one line that can quote nobody's prompt; undefined when it may have left. */
function unsentBecause(error: unknown): string | undefined {
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown };
  return typeof code === 'string' && UNSENT.test(code) ? String(message).split('\n', 1)[0] : undefined;
}

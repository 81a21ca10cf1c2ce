import { EventEmitter } from 'node:events';

/** The part of an AbortSignal that we listen to. */
export interface StopSignal {
  readonly aborted: boolean;
  /** Undefined until it has aborted. */
  readonly reason: unknown;
  addEventListener(type: 'abort', listener: () => void, options?: { readonly once?: boolean }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
  /** Throws the reason. */
  throwIfAborted(): void;
}

/** The work is no longer wanted. */
export class StoppedError extends Error {
  override readonly name = 'StoppedError';
}

/**
 * An AbortController and its signal in one small object, for what every call needs: making an AbortSignal takes Node 20 many times as
 * long, and no code that reads one can be optimised, since each has a hidden class of its own. undici takes it for the emitter it is.
 */
export class StopController extends EventEmitter implements StopSignal {
  #reason: StoppedError | undefined;

  get aborted(): boolean {
    return this.#reason !== undefined;
  }

  get reason(): StoppedError | undefined {
    return this.#reason;
  }

  get signal(): this {
    return this;
  }

  /** Tells the listeners, once. */
  abort(): void {
    if (this.#reason === undefined) {
      this.#reason = new StoppedError('the work is no longer wanted');
      this.emit('abort');
    }
  }

  addEventListener(type: 'abort', listener: () => void, options?: { readonly once?: boolean }): void {
    if (options?.once) {
      this.once(type, listener);
    } else {
      this.on(type, listener);
    }
  }

  removeEventListener(type: 'abort', listener: () => void): void {
    this.off(type, listener);
  }

  throwIfAborted(): void {
    if (this.#reason !== undefined) {
      throw this.#reason;
    }
  }
}

import { EventEmitter } from 'node:events';

/** The subset of AbortSignal in use. */
export interface StopSignal {
  readonly aborted: boolean;
  /** Undefined until it has aborted. */
  readonly reason: unknown;
  addEventListener(type: 'abort', listener: () => void, options?: { readonly once?: boolean }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
  /** Throws the reason. */
  throwIfAborted(): void;
}

/** The abort reason when work is no longer wanted. */
export class StoppedError extends Error {
  override readonly name = 'StoppedError';
}

/**
 * An AbortController and its signal in one small object, since every call needs one. Creating an AbortSignal takes Node 20 many times as
 * long, and code that reads one cannot be optimized because each has a hidden class of its own. undici also accepts an EventEmitter.
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

  /** Notifies the listeners, once. */
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

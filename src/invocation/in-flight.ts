import { AppError } from '../lib/errors.ts';
import { LiveSet } from '../lib/live-set.ts';
import type { StopController } from '../lib/stop-signal.ts';

/** The calls of this process that hold money, and the signal that ends them. */
export class InFlight {
  readonly #calls = new LiveSet<Promise<unknown>>();
  // A roster instead of one shared signal: with thousands of listeners on one signal, each removal would be a linear search.
  readonly #upstream = new LiveSet<StopController>();
  #draining = false;
  #ending = false;

  /** True once calls must end now. */
  get ending(): boolean {
    return this.#ending;
  }

  get size(): number {
    return this.#calls.size;
  }

  /** Aborts the controller when calls must end. The returned function removes it again. */
  register(controller: StopController): () => void {
    const leave = this.#upstream.add(controller);
    if (this.#ending) {
      controller.abort();
    }
    return leave;
  }

  /** Runs a call that a drain will wait for. Throws AppError service_unavailable once a drain has begun. */
  async run<T>(call: () => Promise<T>): Promise<T> {
    if (this.#draining) {
      throw new AppError('service_unavailable', 'this instance is shutting down, please retry', {
        retryAfterSeconds: 1,
      });
    }
    const running = call();
    const settled = running.catch(() => undefined);
    const leave = this.#calls.add(settled);
    try {
      return await running;
    } finally {
      leave();
    }
  }

  /** Rejects new calls, waits up to `deadlineMs` for the running ones, then ends them and waits for their settlement. */
  async drain(deadlineMs: number): Promise<void> {
    this.#draining = true;
    const timer = setTimeout(() => this.#endAll(), deadlineMs);
    while (this.#calls.size > 0) {
      await Promise.all(this.#calls.values());
    }
    clearTimeout(timer);
  }

  #endAll(): void {
    this.#ending = true;
    for (const controller of this.#upstream.values()) {
      controller.abort();
    }
  }
}

import { AppError } from '../lib/errors.ts';
import { Roster } from '../lib/roster.ts';
import type { StopController } from '../lib/stop-signal.ts';

/** The calls of this process that hold money, and the order to end them. */
export class InFlight {
  readonly #calls = new Roster<Promise<unknown>>();
  // A roster, not one signal for all: thousands of listeners on one signal would make each removal a search.
  readonly #upstream = new Roster<StopController>();
  #draining = false;
  #ending = false;

  /** True once calls must end now. */
  get ending(): boolean {
    return this.#ending;
  }

  get size(): number {
    return this.#calls.size;
  }

  /** Has the controller aborted when calls must end; the returned function takes it out again. */
  register(controller: StopController): () => void {
    const leave = this.#upstream.add(controller);
    if (this.#ending) {
      controller.abort();
    }
    return leave;
  }

  /** Runs a call so that a drain waits for it. Throws AppError service_unavailable once a drain began. */
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

  /** Refuses new calls, waits up to `deadlineMs` for the running ones, then ends them and waits for their settlement. */
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

import type { StopSignal } from '../lib/stop-signal.ts';

/** An item in a lane, with the promise its caller waits for. */
export class WaitingItem<Item, Result> {
  readonly item: Item;
  readonly signal: StopSignal | undefined;
  readonly enteredAt = performance.now();
  readonly #resolve: (result: Result) => void;
  readonly #reject: (error: unknown) => void;
  #isRefused = false;

  constructor(
    item: Item,
    signal: StopSignal | undefined,
    resolve: (result: Result) => void,
    reject: (error: unknown) => void,
  ) {
    this.item = item;
    this.signal = signal;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  get isRefused(): boolean {
    return this.#isRefused;
  }

  resolve(result: Result): void {
    this.#resolve(result);
  }

  reject(error: unknown): void {
    this.#isRefused = true;
    this.#reject(error);
  }
}

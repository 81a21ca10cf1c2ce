/**
 * Lets work start at most once per interval: at once after a pause, otherwise when the interval is over. All work waiting by then starts
 * together.
 */
export class MinInterval {
  readonly #intervalMs: number;
  #lastMs = Number.NEGATIVE_INFINITY;
  #next: Promise<void> | undefined;

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  /** Resolves when it is time to start; returns undefined if that is now. */
  begin(): Promise<void> | undefined {
    if (this.#next !== undefined) {
      return this.#next;
    }
    const waitMs = this.#lastMs + this.#intervalMs - performance.now();
    if (waitMs <= 0) {
      this.#lastMs = performance.now();
      return undefined;
    }
    this.#next = new Promise((resolve) => {
      setTimeout(() => {
        this.#next = undefined;
        this.#lastMs = performance.now();
        resolve();
      }, waitMs);
    });
    return this.#next;
  }
}

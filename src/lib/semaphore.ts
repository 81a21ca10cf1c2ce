/** Limits how many pieces of work run at once; the others wait in order. */
export class Semaphore {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(permits: number) {
    this.#free = permits;
  }

  /** Takes a permit, which {@link leave} must release. Resolves to false if none was released within `milliseconds`. */
  async enterWithin(milliseconds: number): Promise<boolean> {
    if (this.#free > 0) {
      this.#free -= 1;
      return true;
    }
    return await new Promise<boolean>((resolve) => {
      const granted = (): void => {
        clearTimeout(timer);
        resolve(true);
      };
      const timer = setTimeout(() => {
        this.#stopWaiting(granted);
        resolve(false);
      }, milliseconds);
      this.#waiting.push(granted);
    });
  }

  /** Runs the work when it is its turn. Rejects with what the work throws, or with the signal's reason if it aborts while waiting. */
  async run<Result>(work: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
    await this.#acquire(signal);
    try {
      return await work();
    } finally {
      this.leave();
    }
  }

  async #acquire(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const granted = (): void => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const leave = (): void => {
        this.#stopWaiting(granted);
        reject(signal.reason);
      };
      this.#waiting.push(granted);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  #stopWaiting(granted: () => void): void {
    this.#waiting.splice(this.#waiting.indexOf(granted), 1);
  }

  /** Releases a permit taken by {@link enterWithin}. */
  leave(): void {
    const next = this.#waiting.shift();
    if (next) {
      next();
    } else {
      this.#free += 1;
    }
  }
}

/** Maximum ms that work yields while new connections come in. */
const STAND_BACK_MS_MAX = 5;

/**
 * Decides when work should yield to connections waiting to be accepted. Node accepts one per turn of the event loop (libuv 1.46); the
 * others wait in the kernel, where the service cannot reject them.
 */
export class ConnectionArrivals {
  readonly #now: () => number;
  #opened = 0;
  #seen = 0;
  #stoodBackAt: number | undefined;

  /** `now` returns ms of a monotonic clock. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Must be called for every new connection. */
  connectionOpened(): void {
    this.#opened += 1;
  }

  /**
   * Returns whether to skip this turn's work. Must be called once per turn of the event loop. If a connection was accepted since the last
   * call, more may be waiting, and a few turns without work let them in.
   */
  standBack(): boolean {
    const cameIn = this.#opened !== this.#seen;
    this.#seen = this.#opened;
    if (!cameIn) {
      this.#stoodBackAt = undefined;
      return false;
    }
    this.#stoodBackAt ??= this.#now();
    if (this.#now() - this.#stoodBackAt < STAND_BACK_MS_MAX) {
      return true;
    }
    this.#stoodBackAt = undefined;
    return false;
  }
}

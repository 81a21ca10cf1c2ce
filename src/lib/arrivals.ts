/** Ms that work stands back while new connections come in. */
const STAND_BACK_MS_MAX = 5;

/**
 * Tells work when to stand back for connections that wait to be accepted. Node accepts one per turn of the event loop (libuv 1.46), and
 * those that are not accepted wait in the kernel, where nobody can refuse them.
 */
export class Arrivals {
  readonly #now: () => number;
  #opened = 0;
  #seen = 0;
  #stoodBackAt: number | undefined;

  /** `now` in ms of a clock that never goes back. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** To be called for every new connection. */
  connectionOpened(): void {
    this.#opened += 1;
  }

  /** Asked once in a turn: one in which a connection was accepted may have left others waiting, and a few turns without work let them in. */
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

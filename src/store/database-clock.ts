import type { Clock } from '../lib/clock.ts';

/**
 * The database's time, advanced by this host's monotonic clock. Times that one host uses in signatures, expiries and ids are compared by
 * another: with this clock both mean the same moment, however wrong or unsteady their own clocks are. Until the database has been
 * asked, it returns the host's own time.
 */
export class DatabaseClock implements Clock {
  /** Database's time minus `performance.now()`, in ms. */
  #offsetMs: number | undefined;

  now(): number {
    return this.#offsetMs === undefined ? Date.now() : Math.round(performance.now() + this.#offsetMs);
  }

  /** The host's clock minus the database's, in ms; undefined until the database has been asked. */
  get skewMs(): number | undefined {
    return this.#offsetMs === undefined ? undefined : Date.now() - this.now();
  }

  /**
   * Records that the database reported `databaseMs` (Unix ms) at some moment between `askedAt` and `answeredAt` (ms of
   * `performance.now()`). A report consistent with the current offset changes nothing, so that time does not jitter with every answer.
   */
  learn(databaseMs: number, askedAt: number, answeredAt: number): void {
    const [earliest, latest] = [databaseMs - answeredAt, databaseMs - askedAt];
    if (this.#offsetMs === undefined || this.#offsetMs < earliest || this.#offsetMs > latest) {
      this.#offsetMs = (earliest + latest) / 2;
    }
  }
}

import type { Clock } from '../lib/clock.ts';

/**
 * The database's time, carried on by this host's monotonic clock. What one host signs, expires or makes an id of, another compares:
 * with this clock they mean the same moment, wherever their own clocks stand and however those jump. Until the database has been
 * asked it is the host's own time.
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
   * The database said `databaseMs` (Unix ms) at some moment between `askedAt` and `answeredAt` (ms of `performance.now()`). What agrees
   * with what is known changes nothing, so that time does not jitter with the answers.
   */
  learn(databaseMs: number, askedAt: number, answeredAt: number): void {
    const [earliest, latest] = [databaseMs - answeredAt, databaseMs - askedAt];
    if (this.#offsetMs === undefined || this.#offsetMs < earliest || this.#offsetMs > latest) {
      this.#offsetMs = (earliest + latest) / 2;
    }
  }
}

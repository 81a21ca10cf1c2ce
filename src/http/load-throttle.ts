import type { Logger } from '../lib/logger.ts';

/** Ms between two looks at how late this process is. */
export const TICK_MS = 10;
/** A turn of the event loop that takes longer than this keeps everybody waiting, in ms. */
const LATE_TURN_MS = 50;
/** What waits longer than this for the database has too much before it, in ms. */
const LATE_DELAY_MS = 300;
/** One long turn is a large body or a garbage collection; several in a row, of so many ms together, are too much work. */
const LATE_TICKS = 3;
const LONG_TURNS_MS = 800;
/** Ms that the database may be behind: a disk that stands still for a second is no overload, and who waits is served after it. */
const BEHIND_MS = 2_000;
/** Share by which the rate falls in a second of being late, and by which it grows in a second of being in time. */
const FALL_PER_SECOND = 1.5;
const GROWTH_PER_SECOND = 0.75;
/** Calls per ms below which the rate never falls: what any process can do. */
const RATE_MIN = 0.05;
/** Ms of the rate that may be admitted at once. */
const BURST_MS = 50;
/** Ms over which the rate of finished calls is averaged. */
const MEMORY_MS = 1_000;
/** Ms without anybody turned away after which an overload is over. */
const CALM_MS = 2_000;

/**
 * Decides how many calls a process takes on when more come than it can do. While it keeps up, all of them. Once it has been late
 * several times in a row, so many per second as keep it just in time: the rate falls while it is late and grows while it is not. Who is
 * turned away costs next to nothing, so the others are served at nearly the rate of a process that is merely busy.
 */
export class LoadThrottle {
  #tickAt: number;
  #lateTicks = 0;
  #lateMs = 0;
  /** What long turns are of {@link #lateMs}. */
  #longTurnsMs = 0;
  /** Calls per ms; Infinity: all of them. */
  #rate = Number.POSITIVE_INFINITY;
  #credit = 0;
  #finished = 0;
  #finishedRate = 0;
  #refusedAt = Number.NEGATIVE_INFINITY;

  /** `now` in ms of a clock that never goes back. */
  constructor(now: number) {
    this.#tickAt = now;
  }

  /** Whether calls beyond some rate are turned away just now. */
  get isLimiting(): boolean {
    return this.#rate !== Number.POSITIVE_INFINITY;
  }

  /** Whether one more call is taken on. */
  admits(): boolean {
    if (this.#rate === Number.POSITIVE_INFINITY || this.#credit >= 1) {
      this.#credit -= 1;
      return true;
    }
    this.#refusedAt = this.#tickAt;
    return false;
  }

  /** A call that was taken on has ended: what this process can do is learnt from how many do. */
  finished(): void {
    this.#finished += 1;
  }

  /** To be called every {@link TICK_MS}; that it comes late is what it learns from. `delayMs`: how far the database is behind. */
  tick(now: number, delayMs: number): void {
    const elapsedMs = Math.max(1, now - this.#tickAt);
    const isLong = elapsedMs > TICK_MS + LATE_TURN_MS;
    const isLate = isLong || delayMs > LATE_DELAY_MS;
    this.#tickAt = now;
    this.#lateTicks = isLate ? this.#lateTicks + 1 : 0;
    this.#lateMs = isLate ? this.#lateMs + elapsedMs : 0;
    this.#longTurnsMs = isLate ? this.#longTurnsMs + (isLong ? elapsedMs : 0) : 0;
    const weight = 1 - Math.exp(-elapsedMs / MEMORY_MS);
    this.#finishedRate += weight * (this.#finished / elapsedMs - this.#finishedRate);
    this.#finished = 0;
    this.#rate = this.#nextRate(now, elapsedMs, isLate);
    this.#credit = Math.min(this.#credit + this.#rate * elapsedMs, Math.max(1, this.#rate * BURST_MS));
  }

  #nextRate(now: number, elapsedMs: number, isLate: boolean): number {
    if (this.#rate === Number.POSITIVE_INFINITY) {
      const isOverloaded =
        this.#lateTicks >= LATE_TICKS && (this.#longTurnsMs >= LONG_TURNS_MS || this.#lateMs >= BEHIND_MS);
      if (isOverloaded) {
        this.#credit = 0;
        this.#refusedAt = now;
      }
      return isOverloaded ? Math.max(RATE_MIN, this.#finishedRate) : this.#rate;
    }
    if (isLate) {
      return Math.max(RATE_MIN, this.#rate * Math.exp((-FALL_PER_SECOND * elapsedMs) / 1_000));
    }
    const isCalm = now - this.#refusedAt > CALM_MS;
    return isCalm ? Number.POSITIVE_INFINITY : this.#rate * (1 + (GROWTH_PER_SECOND * elapsedMs) / 1_000);
  }
}

/** A throttle of this process. `delayMs` tells how far the database is behind. */
export function startLoadThrottle(
  delayMs: () => number,
  log: Logger,
): {
  admits(): boolean;
  finished(): void;
  close(): void;
} {
  const throttle = new LoadThrottle(performance.now());
  let lookedAt = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    const turnMs = now - lookedAt;
    const databaseDelayMs = delayMs();
    const wasLimiting = throttle.isLimiting;
    lookedAt = now;
    throttle.tick(now, databaseDelayMs);
    if (throttle.isLimiting !== wasLimiting) {
      const facts = { turnMs: Math.round(turnMs), databaseDelayMs: Math.round(databaseDelayMs) };
      log.warn(facts, wasLimiting ? 'the overload is over' : 'overloaded: some paid calls are turned away');
    }
  }, TICK_MS);
  timer.unref();
  return {
    admits: () => throttle.admits(),
    finished: () => throttle.finished(),
    close: () => clearInterval(timer),
  };
}

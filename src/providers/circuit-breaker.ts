import type { Clock } from '../lib/clock.ts';

/** Sliding window of calls considered, in ms. */
const WINDOW_MS = 10_000;
/** Minimum calls in the window before the circuit can open. */
export const CALLS_MIN = 20;
/** Share of failed calls that opens the circuit, 0 … 1. */
export const FAILURE_SHARE = 0.5;
/** Wait before one call may probe an open circuit, in ms; jitter of up to half of it is added. */
const PROBE_AFTER_MS = 2_000;
/** If there is no other route, one in this many calls is let through to a paused one. */
const CALLS_PER_TRY = 10;

const BUCKETS = 10;

interface Bucket {
  slot: number;
  calls: number;
  failures: number;
}

/**
 * Stops calls to a route that mostly fails. Closed → open when the failure share of the window is reached → half-open: one probe at a
 * time decides. A provider that asks for a pause gets it, without counting as failed.
 */
export class CircuitBreaker {
  readonly #clock: Clock;
  readonly #buckets: Bucket[] = Array.from({ length: BUCKETS }, () => ({ slot: -1, calls: 0, failures: 0 }));
  #open = false;
  #nextProbeAt = 0;
  #coolUntil = 0;
  /** Since the route was paused: calls refused, and whether one was let through. */
  #refused = 0;
  #tried = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Returns whether a call may be made now. If true while the circuit is open or cooling down, the call is a probe: report its outcome.
   * `alone`: there is no other route, so a share of the calls is let through anyway. `standsBackMs`: how long this caller leaves a due
   * probe to others.
   */
  admits(alone: boolean, standsBackMs = 0): boolean {
    const now = this.#clock.now();
    if (!this.#open && now >= this.#coolUntil) {
      return true;
    }
    const isDue = this.#open && now >= Math.max(this.#nextProbeAt + standsBackMs, this.#coolUntil);
    if (isDue || (alone && this.#refused + 1 >= CALLS_PER_TRY)) {
      this.#tried = true;
      this.#refused = 0;
      this.#scheduleProbe(now);
      return true;
    }
    this.#refused += 1;
    return false;
  }

  get isOpen(): boolean {
    return this.#open;
  }

  /** Returns whether calls are refused because the provider asked for a pause rather than because it fails. */
  cooling(): boolean {
    return this.#clock.now() < this.#coolUntil;
  }

  /** Returns how much longer calls are refused, in ms; 0 if they are not. */
  retryAfterMs(): number {
    const until = Math.max(this.#coolUntil, this.#open ? this.#nextProbeAt : 0);
    return Math.max(0, until - this.#clock.now());
  }

  success(): void {
    if (this.#open) {
      this.#open = false;
      this.#reset();
    }
    if (this.#tried) {
      this.#coolUntil = 0;
      this.#tried = false;
    }
    this.#bucket().calls += 1;
  }

  failure(): void {
    const bucket = this.#bucket();
    bucket.calls += 1;
    bucket.failures += 1;
    if (this.#open) {
      this.#scheduleProbe(this.#clock.now());
      return;
    }
    const { calls, failures } = this.totals();
    if (calls >= CALLS_MIN && failures >= calls * FAILURE_SHARE) {
      this.open();
    }
  }

  /** Opens the circuit: no call is let through until a probe is due. */
  open(): void {
    this.#open = true;
    this.#rest();
    this.#scheduleProbe(this.#clock.now());
  }

  /** Pauses calls for `ms` because the provider asked for it. */
  coolDown(ms: number): void {
    if (!this.cooling()) {
      this.#rest();
    }
    this.#coolUntil = Math.max(this.#coolUntil, this.#clock.now() + ms);
  }

  /** Returns how many calls ended within the window, and how many of them failed. */
  totals(): { calls: number; failures: number } {
    const oldest = this.#slot() - BUCKETS + 1;
    const totals = { calls: 0, failures: 0 };
    for (const bucket of this.#buckets) {
      if (bucket.slot >= oldest) {
        totals.calls += bucket.calls;
        totals.failures += bucket.failures;
      }
    }
    return totals;
  }

  #rest(): void {
    this.#refused = 0;
    this.#tried = false;
  }

  #scheduleProbe(now: number): void {
    this.#nextProbeAt = now + PROBE_AFTER_MS * (1 + Math.random() / 2);
  }

  #slot(): number {
    return Math.floor(this.#clock.now() / (WINDOW_MS / BUCKETS));
  }

  #bucket(): Bucket {
    const slot = this.#slot();
    const bucket = this.#buckets[slot % BUCKETS] as Bucket;
    if (bucket.slot !== slot) {
      Object.assign(bucket, { slot, calls: 0, failures: 0 });
    }
    return bucket;
  }

  #reset(): void {
    for (const bucket of this.#buckets) {
      bucket.slot = -1;
    }
  }
}

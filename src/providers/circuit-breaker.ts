import type { Clock } from '../lib/clock.ts';

export interface BreakerSettings {
  /** How far back calls are looked at, in ms. */
  readonly windowMs: number;
  /** Fewer calls in the window prove nothing. */
  readonly callsMin: number;
  /** Share of failed calls that opens the circuit, 0 … 1. */
  readonly failureShare: number;
  /** Pause before one call may probe an open circuit, in ms; jitter of up to half of it is added. */
  readonly probeAfterMs: number;
}

export const DEFAULT_BREAKER: BreakerSettings = {
  windowMs: 10_000,
  callsMin: 20,
  failureShare: 0.5,
  probeAfterMs: 2_000,
};

const BUCKETS = 10;

interface Bucket {
  slot: number;
  calls: number;
  failures: number;
}

/**
 * Stops calling a provider's model that mostly fails. Closed → open at the failure share of the window → half-open: one
 * probe at a time decides. A provider that asked to be left alone is left alone until then, without counting as failed.
 */
export class CircuitBreaker {
  readonly #clock: Clock;
  readonly #settings: BreakerSettings;
  readonly #buckets: Bucket[] = Array.from({ length: BUCKETS }, () => ({ slot: -1, calls: 0, failures: 0 }));
  #open = false;
  #nextProbeAt = 0;
  #coolUntil = 0;

  constructor(clock: Clock, settings: BreakerSettings = DEFAULT_BREAKER) {
    this.#clock = clock;
    this.#settings = settings;
  }

  /** Whether a call may be made now. A true answer on an open circuit is the probe: report its outcome. */
  admits(): boolean {
    const now = this.#clock.now();
    if (now < this.#coolUntil) {
      return false;
    }
    if (!this.#open) {
      return true;
    }
    if (now < this.#nextProbeAt) {
      return false;
    }
    this.#scheduleProbe(now);
    return true;
  }

  /** True while calls are refused because the provider asked for a pause, not because it fails. */
  cooling(): boolean {
    return this.#clock.now() < this.#coolUntil;
  }

  /** How long calls are refused from now on, in ms; 0 when they are not. */
  retryAfterMs(): number {
    const until = Math.max(this.#coolUntil, this.#open ? this.#nextProbeAt : 0);
    return Math.max(0, until - this.#clock.now());
  }

  success(): void {
    if (this.#open) {
      this.#open = false;
      this.#reset();
    }
    this.#bucket().calls += 1;
  }

  failure(): void {
    const now = this.#clock.now();
    const bucket = this.#bucket();
    bucket.calls += 1;
    bucket.failures += 1;
    if (this.#open) {
      this.#scheduleProbe(now);
      return;
    }
    const { calls, failures } = this.#totals(now);
    if (calls >= this.#settings.callsMin && failures >= calls * this.#settings.failureShare) {
      this.#open = true;
      this.#scheduleProbe(now);
    }
  }

  /** The provider asked for a pause of `ms`. */
  coolDown(ms: number): void {
    this.#coolUntil = Math.max(this.#coolUntil, this.#clock.now() + ms);
  }

  #scheduleProbe(now: number): void {
    this.#nextProbeAt = now + this.#settings.probeAfterMs * (1 + Math.random() / 2);
  }

  #slot(now: number): number {
    return Math.floor(now / (this.#settings.windowMs / BUCKETS));
  }

  #bucket(): Bucket {
    const slot = this.#slot(this.#clock.now());
    const bucket = this.#buckets[slot % BUCKETS] as Bucket;
    if (bucket.slot !== slot) {
      Object.assign(bucket, { slot, calls: 0, failures: 0 });
    }
    return bucket;
  }

  #totals(now: number): { calls: number; failures: number } {
    const oldest = this.#slot(now) - BUCKETS + 1;
    const totals = { calls: 0, failures: 0 };
    for (const bucket of this.#buckets) {
      if (bucket.slot >= oldest) {
        totals.calls += bucket.calls;
        totals.failures += bucket.failures;
      }
    }
    return totals;
  }

  #reset(): void {
    for (const bucket of this.#buckets) {
      bucket.slot = -1;
    }
  }
}

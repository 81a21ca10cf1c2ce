import type { Clock } from '../../lib/clock.ts';
import { LruMap } from '../../lib/lru-map.ts';
import { clientNetwork } from './client-network.ts';

const ADDRESSES_MAX = 10_000;
/** Maximum time that an address is blocked, in ms, however often it failed: many clients can share one address. */
const SHUT_OUT_MS_MAX = 60_000;

/** Limits failures per client address: at most `perMinute` in a burst, refilled evenly. */
export class FailureLimiter {
  readonly #perMinute: number;
  readonly #clock: Clock;
  /** Unix ms at which the address's failures are all forgiven. */
  readonly #forgivenAt = new LruMap<string, number>(ADDRESSES_MAX);

  constructor(perMinute: number, clock: Clock) {
    this.#perMinute = perMinute;
    this.#clock = clock;
  }

  /** Seconds until the address may try again; 0 when it may now. */
  retryAfterSeconds(address: string): number {
    const excessMs = (this.#forgivenAt.get(clientNetwork(address)) ?? 0) - this.#clock.now() - 60_000;
    return Math.max(0, Math.ceil(excessMs / 1000));
  }

  recordFailure(address: string): void {
    const key = clientNetwork(address);
    const now = this.#clock.now();
    const from = Math.max(this.#forgivenAt.get(key) ?? 0, now);
    const forgivenAt = from + 60_000 / this.#perMinute;
    this.#forgivenAt.set(key, Math.min(forgivenAt, now + 60_000 + SHUT_OUT_MS_MAX));
  }
}

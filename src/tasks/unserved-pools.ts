import { cachedReading } from '../lib/cached-reading.ts';
import type { Logger } from '../lib/logger.ts';

/** One reading of the live workers serves all orders of this time, in ms. */
const SLOTS = { freshMs: 1_000, timeoutMs: 2_000 };
/** Minimum ms between two log lines about the same pool. */
const COMPLAIN_EVERY_MS = 60_000;

/** Logs orders for a pool that no live worker serves: they wait until one comes, or until their deadline. */
export class UnservedPools {
  readonly #liveSlots: () => Promise<ReadonlyMap<string, number> | undefined>;
  readonly #log: Logger;
  /** When an order's first pool was last logged, on the clock of `performance.now()`; at most one entry per pool the catalog has had. */
  readonly #complainedAt = new Map<string, number>();

  /** `liveSlots` returns how many tasks all live workers can run at once, by queue. */
  constructor(liveSlots: () => Promise<ReadonlyMap<string, number>>, log: Logger) {
    this.#liveSlots = cachedReading(liveSlots, SLOTS);
    this.#log = log;
  }

  /** Checks an accepted order that these pools can serve. Never rejects; callers need not wait for it. */
  async ordered(pools: readonly string[]): Promise<void> {
    const slots = await this.#liveSlots();
    const [pool = ''] = pools;
    const now = performance.now();
    const lately = now - (this.#complainedAt.get(pool) ?? Number.NEGATIVE_INFINITY) < COMPLAIN_EVERY_MS;
    if (slots && !lately && !pools.some((one) => slots.has(`generate-${one}`))) {
      this.#complainedAt.set(pool, now);
      this.#log.error({ pools }, 'an order waits: no live worker serves its pool');
    }
  }
}

import { cachedReading } from '../lib/cached-reading.ts';
import type { Logger } from '../lib/logger.ts';

/** A reading of the live workers serves all orders of this time, in ms. */
const SLOTS = { freshMs: 1_000, timeoutMs: 2_000 };
/** Ms before the same pool is complained of again. */
const COMPLAIN_EVERY_MS = 60_000;

/** Tells the operator of orders for a pool that no live worker serves: they wait until one comes, or for their deadline. */
export class UnservedPools {
  readonly #liveSlots: () => Promise<ReadonlyMap<string, number> | undefined>;
  readonly #log: Logger;
  /** When each first pool was last complained of, in ms of the process; as many as the catalog has had. */
  readonly #complainedAt = new Map<string, number>();

  /** `liveSlots`: what all live workers can run at once, by queue. */
  constructor(liveSlots: () => Promise<ReadonlyMap<string, number>>, log: Logger) {
    this.#liveSlots = cachedReading(liveSlots, SLOTS);
    this.#log = log;
  }

  /** An order was taken that these pools can serve. Never rejects, and holds nobody up who does not wait for it. */
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

import { every, type Loop } from '../lib/every.ts';
import { LiveSet } from '../lib/live-set.ts';
import type { Logger } from '../lib/logger.ts';
import type { LedgerStore } from './ledger.store.ts';
import type { MeteredSoFar } from './ledger.types.ts';

/** A hold is orphaned only after four missed renewals. */
export const HOLD_TTL_MS = 60_000;
const RENEW_EVERY_MS = 15_000;
const RENEW_ITEMS_MAX = 1_000;

interface LiveHold {
  readonly id: string;
  readonly metered: () => MeteredSoFar;
}

/** Renews the leases of this process's live holds, and stores what each has used so far. */
export class HoldLeases {
  readonly #store: LedgerStore;
  readonly #log: Logger;
  readonly #live = new LiveSet<LiveHold>();
  readonly #renewal: Loop;

  constructor(store: LedgerStore, log: Logger, renewEveryMs: number = RENEW_EVERY_MS) {
    this.#store = store;
    this.#log = log;
    this.#renewal = every(renewEveryMs, () => this.renewAll());
  }

  get size(): number {
    return this.#live.size;
  }

  /** Renews the hold's lease until the returned function is called. */
  add(id: string, metered: () => MeteredSoFar): () => void {
    return this.#live.add({ id, metered });
  }

  /** Renews every live hold now. A failure is logged and made up for by the next round, well within the lease. */
  async renewAll(): Promise<void> {
    const holds = this.#live.values().map(({ id, metered }) => ({ id, metered: metered() }));
    for (let start = 0; start < holds.length; start += RENEW_ITEMS_MAX) {
      try {
        await this.#store.renew(holds.slice(start, start + RENEW_ITEMS_MAX), HOLD_TTL_MS);
      } catch (error) {
        this.#log.warn({ error, holds: holds.length }, 'hold leases not renewed');
      }
    }
  }

  async close(): Promise<void> {
    await this.#renewal.close();
  }
}

import { every, type Loop } from '../lib/every.ts';
import type { Logger } from '../lib/logger.ts';
import { ZERO_USD } from '../lib/money.ts';
import { NO_USAGE } from '../lib/usage.ts';
import type { PostgresLedger } from './ledger.engine.ts';
import type { ExpiredHold, LedgerStore } from './ledger.store.ts';
import type { MeteredSoFar, Settlement } from './ledger.types.ts';

const REAP_ITEMS_MAX = 500;

/** Closes holds of calls whose process stopped renewing them: charges what they metered and releases the rest. */
export class HoldReaper {
  readonly #store: LedgerStore;
  readonly #ledger: PostgresLedger;
  readonly #log: Logger;

  constructor(store: LedgerStore, ledger: PostgresLedger, log: Logger) {
    this.#store = store;
    this.#ledger = ledger;
    this.#log = log;
  }

  /**
   * Reaps every `everyMs` until closed. Each API process reaps, too: the chores of the workers stop while Redis is down,
   * and held money must be released all the same.
   */
  start(everyMs: number): Loop {
    return every(everyMs, () =>
      this.reap().catch((error: unknown) => this.#log.warn({ error }, 'orphaned holds not closed')),
    );
  }

  /** Closes up to 500 expired holds. Concurrent reapers are harmless. Returns how many this one closed. */
  async reap(): Promise<number> {
    const expired = await this.#store.expired(REAP_ITEMS_MAX);
    const closed = await Promise.all(
      expired.map((hold) => this.#ledger.settleExpired(orphanSettlement(hold))),
    );
    const count = closed.filter(Boolean).length;
    if (count > 0) {
      this.#log.warn({ holds: count }, 'orphaned holds closed');
    }
    return count;
  }
}

function orphanSettlement(hold: ExpiredHold): Settlement {
  const metered: MeteredSoFar = hold.metered ?? { charge: { amount: ZERO_USD, lines: {} }, usage: NO_USAGE };
  const delivered = metered.charge.amount > 0n;
  return {
    holdId: hold.id,
    accountId: hold.accountId,
    apiKeyId: hold.apiKeyId,
    status: delivered ? 'cancelled' : 'failed',
    served: metered.served,
    charge: metered.charge,
    beyondMaxCost: ZERO_USD,
    usage: metered.usage,
    usageSource: delivered ? 'counted' : 'none',
    error: { code: 'internal_error', message: 'The gateway process that handled this call stopped.' },
    provider: null,
    providerCost: null,
    attempts: [],
    finishReason: null,
    latencyMs: milliseconds(hold.ageMs),
    firstTokenMs: null,
    streamed: true,
  };
}

/** Clamps an age to the INTEGER column. */
function milliseconds(age: number): number {
  return Math.min(Math.max(0, age), 2_147_483_647);
}

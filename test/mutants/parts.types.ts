import type { chargeFor } from '../../src/catalog/pricing.ts';
import type { LedgerStore } from '../../src/ledger/ledger.store.ts';
import type { Database } from '../../src/store/database.ts';
import type { TestDatabase } from '../setup/database.ts';

/** The parts a mutant may replace by broken ones. */
export interface Parts {
  readonly db: TestDatabase;
  readonly createStore: (database: Database) => LedgerStore;
  readonly chargeFor: typeof chargeFor;
}

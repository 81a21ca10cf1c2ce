import type pg from 'pg';
import type { Logger } from '../lib/logger.ts';
import { run } from '../store/statement.ts';
import { accountsToClose, closeMonths, createPartitions, finalizeInvoices } from './ledger.sql.ts';
import type { LedgerVerifier } from './ledger-verifier.ts';

const ACCOUNTS_PER_RUN = 500;
const PARTITION_MONTHS_AHEAD = 3;

/** Turns months that are over into statements, and makes room for the months to come. */
export class MonthClose {
  readonly #pool: pg.Pool;
  readonly #verifier: LedgerVerifier;
  readonly #log: Logger;

  constructor(pool: pg.Pool, verifier: LedgerVerifier, log: Logger) {
    this.#pool = pool;
    this.#verifier = verifier;
    this.#log = log;
  }

  /**
   * Closes the due months of up to 500 accounts; a statement becomes final when its account reconciles, and stays open
   * for a human when it does not. Returns how many statements were made.
   */
  async closeDueMonths(): Promise<number> {
    const accounts = await run<{ id: string }>(this.#pool, accountsToClose, [ACCOUNTS_PER_RUN]);
    let made = 0;
    for (const { id } of accounts) {
      const [row] = await run<{ closed: number }>(this.#pool, closeMonths, [id]);
      made += row?.closed ?? 0;
      const { ok, violations } = await this.#verifier.verify(id);
      if (ok) {
        await run(this.#pool, finalizeInvoices, [id]);
      } else {
        this.#log.error({ accountId: id, violations }, 'statement left open: the account does not reconcile');
      }
    }
    return made;
  }

  /** Creates the partitions of this month and the next three. Returns how many were new. */
  async createPartitions(): Promise<number> {
    const [row] = await run<{ made: string }>(this.#pool, createPartitions, [PARTITION_MONTHS_AHEAD]);
    return Number(row?.made ?? 0);
  }
}

import type pg from 'pg';
import type { Logger } from '../lib/logger.ts';
import { run } from '../store/statement.ts';
import {
  accountsToClose,
  closeMonths,
  createPartitions,
  finalizeInvoices,
  reissueStatements,
} from './ledger.sql.ts';
import type { AuditedAct } from './ledger.types.ts';
import type { LedgerVerifier } from './ledger-verifier.ts';

const ACCOUNTS_PER_RUN = 500;
const PARTITION_MONTHS_AHEAD = 3;

/** Puts the closed statements of an account on paper before they become final; one that was issued stays as it is. */
export interface StatementIssuer {
  issueOpen(accountId: string): Promise<void>;
}

/** Turns months that are over into statements, and makes room for the months to come. */
export class MonthClose {
  readonly #pool: pg.Pool;
  readonly #verifier: LedgerVerifier;
  readonly #issuer: StatementIssuer;
  readonly #log: Logger;

  constructor(pool: pg.Pool, verifier: LedgerVerifier, issuer: StatementIssuer, log: Logger) {
    this.#pool = pool;
    this.#verifier = verifier;
    this.#issuer = issuer;
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
      await this.#finalize(id);
    }
    return made;
  }

  /**
   * States a closed month again, and each later one that no longer follows; the statements before become void. Returns how many were
   * made: 0 when the month is not closed.
   */
  async reissue(accountId: string, month: Date, reason: string, act: AuditedAct): Promise<number> {
    const values = [accountId, month, reason, JSON.stringify(act)];
    const [row] = await run<{ made: number }>(this.#pool, reissueStatements, values);
    const made = row?.made ?? 0;
    if (made > 0) {
      await this.#finalize(accountId);
    }
    return made;
  }

  async #finalize(accountId: string): Promise<void> {
    const { ok, violations } = await this.#verifier.verify(accountId);
    if (ok) {
      await this.#issuer.issueOpen(accountId);
      await run(this.#pool, finalizeInvoices, [accountId]);
    } else {
      this.#log.error({ accountId, violations }, 'statement left open: the account does not reconcile');
    }
  }

  /** Creates the partitions of this month and the next three. Returns how many were new. */
  async createPartitions(): Promise<number> {
    const [row] = await run<{ made: string }>(this.#pool, createPartitions, [PARTITION_MONTHS_AHEAD]);
    return Number(row?.made ?? 0);
  }
}

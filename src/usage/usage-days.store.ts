import type pg from 'pg';
import { classifyFailure } from '../ledger/failure-kind.ts';
import { forEachIsolated } from '../lib/for-each-isolated.ts';
import { run } from '../store/statement.ts';
import { accountsToRollUp, fillUsageDays, finishUsageDays } from './usage-days.sql.ts';

/** Accounts per run. A busy account has a new finished hour once an hour; the next run takes the rest. */
const ACCOUNTS_PER_RUN = 2_000;
/** Days that one statement sums. */
const DAYS_PER_STATEMENT = 31;

/** Sums finished hours and days, so that reports need not read their five-minute roll-ups. Several workers may run it at the same time. */
export class UsageDays {
  readonly #pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  /**
   * Fills the finished hours and days of up to 2,000 accounts. Returns the number of hours filled in total. When accounts fail, rethrows
   * the first Postgres error after all other accounts are filled.
   */
  async rollUp(): Promise<number> {
    const accounts = await run<{ id: string }>(this.#pool, accountsToRollUp, [ACCOUNTS_PER_RUN]);
    let hours = 0;
    const failures: unknown[] = [];
    const rollUp = async ({ id }: { id: string }) => {
      hours += await this.#rollUpAccount(id);
    };
    await forEachIsolated(accounts, rollUp, { onFailure: (_, error) => failures.push(error) });
    if (failures.length > 0) {
      throw failures[0];
    }
    return hours;
  }

  /** Skips an account whose lock is held too long. The next run retries it. */
  async #finishHours(accountId: string): Promise<void> {
    try {
      await run(this.#pool, finishUsageDays, [accountId]);
    } catch (error) {
      if (classifyFailure(error) !== 'lock') {
        throw error;
      }
    }
  }

  /** Uses two transactions: the first holds the account's lock for a moment, the second reads its roll-ups without it. */
  async #rollUpAccount(accountId: string): Promise<number> {
    await this.#finishHours(accountId);
    let hours = 0;
    for (;;) {
      const [row] = await run<{ filled: number }>(this.#pool, fillUsageDays, [accountId, DAYS_PER_STATEMENT]);
      if (row === undefined || row.filled === 0) {
        return hours;
      }
      hours += row.filled;
    }
  }
}

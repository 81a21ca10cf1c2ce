import type pg from 'pg';
import { run } from '../store/statement.ts';
import { totalWriteOffs } from './ledger.sql.ts';

/** Sums of what was written off, kept so that the gauge reads an hour of rows and not all there are. */
export class WriteOffTotals {
  readonly #pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  /** Adds what is older than an hour to the totals. Several workers may do so at once. */
  async rollUp(): Promise<void> {
    await run(this.#pool, totalWriteOffs, []);
  }
}

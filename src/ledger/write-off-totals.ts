import type pg from 'pg';
import { run } from '../store/statement.ts';
import { totalWriteOffs } from './ledger.sql.ts';

/** Keeps sums of write-offs, so that the gauge reads one hour of rows instead of all of them. */
export class WriteOffTotals {
  readonly #pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  /** Adds write-offs older than an hour to the totals. Several workers may do so at once. */
  async rollUp(): Promise<void> {
    await run(this.#pool, totalWriteOffs, []);
  }
}

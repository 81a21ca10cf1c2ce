import type pg from 'pg';
import { jsonParameter, run } from '../store/statement.ts';
import { readMargins, saveMargins } from './hidden-overhead.sql.ts';
import type { MarginChange, MarginStore, StoredMargin } from './hidden-overhead.ts';

/** Maximum margins to read. No catalog has this many provider models. */
const MARGINS_MAX = 10_000;

/** What providers add to inputs, shared by all processes through Postgres. */
export class HiddenOverheadStore implements MarginStore {
  readonly #pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  /** Rethrows Postgres errors. */
  async exchange(changes: readonly MarginChange[]): Promise<readonly StoredMargin[]> {
    if (changes.length > 0) {
      await run(this.#pool, saveMargins, [jsonParameter(changes)]);
    }
    return await run<StoredMargin & pg.QueryResultRow>(this.#pool, readMargins, [MARGINS_MAX]);
  }
}

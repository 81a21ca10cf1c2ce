import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { run } from '../store/statement.ts';
import { sealAccount } from './ledger-checks.sql.ts';

/** Entries sealed by one statement: some 15 ms of a core. */
const SEALED_AT_ONCE = 1_000;
/** A rest after each statement, as a multiple of its duration: sealing a busy minute in one go would take a core from calls for seconds. */
const REST = 2;

const REST_MAX_MS = 1_000;

interface SealedRow extends pg.QueryResultRow {
  readonly sealed: number;
  readonly until: string | null;
}

/** Seals the entries of an account that are not sealed yet, with rests. Returns how many. Throws Postgres errors. */
export async function sealEntries(pool: pg.Pool, accountId: string): Promise<number> {
  let since: string | null = null;
  for (let total = 0; ; ) {
    const startedAt = performance.now();
    const [row]: SealedRow[] = await run<SealedRow>(pool, sealAccount, [accountId, SEALED_AT_ONCE, since]);
    total += row?.sealed ?? 0;
    if (row?.sealed !== SEALED_AT_ONCE) {
      return total;
    }
    since = row.until;
    await sleep(Math.min(REST * (performance.now() - startedAt), REST_MAX_MS));
  }
}

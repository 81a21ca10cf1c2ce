import type pg from 'pg';
import { run } from '../store/statement.ts';
import { sealAccount } from './ledger-checks.sql.ts';

/** Entries sealed by one statement, so that it ends in time however many there are. */
const SEALED_AT_ONCE = 20_000;

/** Seals the entries of an account that are not sealed yet. Returns how many. Throws Postgres errors. */
export async function sealEntries(pool: pg.Pool, accountId: string): Promise<number> {
  for (let sealed = 0; ; ) {
    const [row] = await run<{ sealed: number }>(pool, sealAccount, [accountId, SEALED_AT_ONCE]);
    sealed += row?.sealed ?? 0;
    if (row?.sealed !== SEALED_AT_ONCE) {
      return sealed;
    }
  }
}

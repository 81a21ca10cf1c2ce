import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import { LedgerStore } from '../../../src/ledger/ledger.store.ts';
import { HoldReaper } from '../../../src/ledger/reaper.ts';
import { ZERO_USD } from '../../../src/lib/money.ts';
import { NO_USAGE } from '../../../src/lib/usage.ts';
import type { Database } from '../../../src/store/database.ts';
import { silentLog, testLedger } from '../../factories/ledger.ts';
import type { ToldCharge } from './ledger-process.ts';

export interface AuditReport {
  /** Number of charges reported to clients. */
  readonly told: number;
  /** Charges reported to a client for which the books have another charge or none. */
  readonly wrong: readonly { readonly told: ToldCharge; readonly booked: string | undefined }[];
}

/** Compares what clients wrote down with what the books say. Knows nothing about how the ledger works. */
export async function audit(pool: pg.Pool, folder: string): Promise<AuditReport> {
  const charges = await readTold(folder);
  const { rows } = await pool.query<{ id: string; account_id: string; charge: string }>(
    'SELECT id, account_id, charge FROM generations',
  );
  const booked = new Map(rows.map((row) => [row.id, row]));
  const wrong = charges.flatMap((told) => {
    const row = booked.get(told.id);
    const right = row?.charge === told.charge && row.account_id === told.accountId;
    return right ? [] : [{ told, booked: row?.charge }];
  });
  return { told: charges.length, wrong };
}

/** Closes what killed processes left behind, as if their leases had expired. */
export async function closeOrphans(database: Database): Promise<void> {
  const { rows } = await database.money.query<{ id: string }>('SELECT id FROM holds');
  const store = new LedgerStore(database.money);
  const metered = { charge: { amount: ZERO_USD, lines: {} }, usage: NO_USAGE };
  await store.renew(
    rows.map(({ id }) => ({ id, metered })),
    -1,
  );
  const ledger = testLedger(database);
  await new HoldReaper(store, ledger, silentLog).reap();
  await ledger.close();
}

async function readTold(folder: string): Promise<ToldCharge[]> {
  const files = (await readdir(folder)).filter((name) => name.startsWith('told-'));
  const texts = await Promise.all(files.map((name) => readFile(join(folder, name), 'utf8')));
  // the last line of a log may be torn by the kill
  return texts.flatMap((text) =>
    text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as ToldCharge),
  );
}

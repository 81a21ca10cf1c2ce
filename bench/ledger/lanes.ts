import pg from 'pg';
import { PostgresLedger } from '../../src/ledger/ledger.engine.ts';
import { LedgerStore } from '../../src/ledger/ledger.store.ts';
import { LedgerVerifier } from '../../src/ledger/ledger-verifier.ts';
import { every } from '../../src/lib/every.ts';
import { nanoUsd } from '../../src/lib/money.ts';
import { createDatabase } from '../../src/store/database.ts';
import {
  fundedAccount,
  holdRequest,
  settlement,
  silentLog,
  silentObserver,
  type TestAccount,
} from '../../test/factories/ledger.ts';
import { MOVABLE_CLOCK } from '../../test/setup/movable-clock.ts';
import type { BenchPostgres } from '../measure/bench-postgres.ts';
import { type LoadOptions, type LoadResult, runClients } from '../measure/clients.ts';
import { sealAll } from '../measure/seal-all.ts';
import { writeHistory } from './history.ts';

/** Amount of each hold and each settlement. */
export const AMOUNT = nanoUsd(1_000n);
export const CLIENTS = 256;

export type Load = Pick<LoadOptions, 'warmUpMs' | 'measureMs'>;

/** Measures reserve and settle through the lanes of one process, one load after the other. */
export async function measureLanes(
  url: string,
  accounts: readonly TestAccount[],
  loads: readonly Load[],
): Promise<LoadResult[]> {
  const database = createDatabase({ url, moneyConnections: 6, connections: 1 }, () => undefined);
  const ledger = new PostgresLedger(new LedgerStore(database.money), silentLog, silentObserver);
  let next = 0;
  const results: LoadResult[] = [];
  for (const load of loads) {
    results.push(
      await runClients({ ...load, clients: CLIENTS }, async () => {
        const account = accounts[next++ % accounts.length]!;
        const hold = await ledger.reserve(holdRequest(account, AMOUNT));
        await ledger.settle(settlement(hold, AMOUNT));
      }),
    );
  }
  await ledger.close();
  await database.close();
  return results;
}

/** The same while entries are sealed every `sealMs`. Maintenance seals each minute, with the same work per entry. */
export async function measureSealedLanes(
  url: string,
  accounts: readonly TestAccount[],
  loads: readonly Load[],
  sealMs: number,
): Promise<LoadResult[]> {
  const database = createDatabase({ url, moneyConnections: 1, connections: 1 }, () => undefined);
  const verifier = new LedgerVerifier(database.money);
  await sealAll(verifier);
  const sealing = every(sealMs, () => verifier.seal());
  const results = await measureLanes(url, accounts, loads);
  await sealing.close();
  await database.close();
  return results;
}

export async function makeAccounts(url: string, count: number): Promise<TestAccount[]> {
  const database = createDatabase({ url, moneyConnections: 6, connections: 1 }, () => undefined);
  const accounts = [];
  for (let made = 0; made < count; made += 1) {
    accounts.push(await fundedAccount(database, '100000'));
  }
  await database.close();
  return accounts;
}

/** Creates an account with `rows` charges over the last month. */
export async function accountWithHistory(postgres: BenchPostgres, rows: number): Promise<TestAccount> {
  const [account] = await makeAccounts(await aMonthAgo(postgres), 1);
  await asOwner(postgres.ownerUrl, (owner) => writeHistory(owner, account!, rows));
  return account!;
}

/** Returns the URL of the same database with the ledger's clock set back, so that an account is older than its history. */
async function aMonthAgo({ url, ownerUrl }: BenchPostgres): Promise<string> {
  await asOwner(ownerUrl, (owner) => owner.query(MOVABLE_CLOCK));
  const past = new URL(url);
  past.searchParams.set('options', '-c tollgate.clock_offset=-31d');
  return past.href;
}

async function asOwner(url: string, work: (owner: pg.Client) => Promise<unknown>): Promise<void> {
  const owner = new pg.Client({ connectionString: url });
  await owner.connect();
  await work(owner).finally(() => owner.end());
}

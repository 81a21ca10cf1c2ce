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
import { type BenchPostgres, startBenchPostgres } from '../measure/bench-postgres.ts';
import { type LoadResult, runClients } from '../measure/clients.ts';
import { publishResult } from '../measure/result.ts';
import { writeHistory } from './history.ts';
import { reserveAndSettle } from './transaction-per-request.ts';

/** `npm run bench:ledger [-- --quick]`: reserve + settle per second, against one transaction per request, same run. */

const AMOUNT = nanoUsd(1_000n);
const CLIENTS = 256;
const quick = process.argv.includes('--quick');
const LOAD = { clients: CLIENTS, warmUpMs: quick ? 500 : 2_000, measureMs: quick ? 2_000 : 8_000 };
const COLD_ACCOUNTS = 1_000;
const HISTORY_ROWS = quick ? 100_000 : 2_000_000;
const VERIFY_ROWS = quick ? 50_000 : 1_000_000;

async function measureLanes(url: string, accounts: readonly TestAccount[]): Promise<LoadResult> {
  const database = createDatabase({ url, moneyConnections: 6, connections: 1 }, () => undefined);
  const ledger = new PostgresLedger(new LedgerStore(database.money), silentLog, silentObserver);
  let next = 0;
  const result = await runClients(LOAD, async () => {
    const account = accounts[next++ % accounts.length]!;
    const hold = await ledger.reserve(holdRequest(account, AMOUNT));
    await ledger.settle(settlement(hold, AMOUNT));
  });
  await ledger.close();
  await database.close();
  return result;
}

/** The same while each entry is sealed within a second; maintenance does it each minute, with the same work per entry. */
async function measureSealedLanes(url: string, accounts: readonly TestAccount[]): Promise<LoadResult> {
  const database = createDatabase({ url, moneyConnections: 1, connections: 1 }, () => undefined);
  const verifier = new LedgerVerifier(database.money);
  // what was booked before is no part of it
  for (let sealed = 1; sealed > 0; ) {
    sealed = await verifier.seal();
  }
  const sealing = every(1_000, () => verifier.seal());
  const result = await measureLanes(url, accounts);
  await sealing.close();
  await database.close();
  return result;
}

/** The baseline with the pool size that served it best. */
async function measureTransactions(ownerUrl: string, accounts: readonly TestAccount[]): Promise<LoadResult> {
  let best: LoadResult | undefined;
  for (const connections of [4, 16]) {
    const pool = new pg.Pool({ connectionString: ownerUrl, max: connections });
    pool.on('error', () => undefined);
    let next = 0;
    const result = await runClients({ ...LOAD, clients: 64 }, () =>
      reserveAndSettle(pool, accounts[next++ % accounts.length]!, AMOUNT),
    );
    await pool.end();
    best = best === undefined || result.perSecond > best.perSecond ? result : best;
  }
  return best!;
}

async function makeAccounts(url: string, count: number): Promise<TestAccount[]> {
  const database = createDatabase({ url, moneyConnections: 6, connections: 1 }, () => undefined);
  const accounts = [];
  for (let made = 0; made < count; made += 1) {
    accounts.push(await fundedAccount(database, '100000'));
  }
  await database.close();
  return accounts;
}

/** The same database with the ledger's clock set back, so that an account is older than its history. */
async function aMonthAgo({ url, ownerUrl }: BenchPostgres): Promise<string> {
  await asOwner(ownerUrl, (owner) => owner.query(MOVABLE_CLOCK));
  const past = new URL(url);
  past.searchParams.set('options', '-c tollgate.clock_offset=-31d');
  return past.href;
}

async function addHistory(postgres: BenchPostgres, account: TestAccount, rows: number): Promise<void> {
  await asOwner(postgres.ownerUrl, (owner) => writeHistory(owner, account, rows));
}

async function asOwner(url: string, work: (owner: pg.Client) => Promise<unknown>): Promise<void> {
  const owner = new pg.Client({ connectionString: url });
  await owner.connect();
  await work(owner).finally(() => owner.end());
}

/** Ms that a proof of the whole ledger takes. */
async function measureVerify(): Promise<number> {
  const fresh = await startBenchPostgres();
  try {
    const [account] = await makeAccounts(await aMonthAgo(fresh), 1);
    await addHistory(fresh, account!, VERIFY_ROWS);
    const database = createDatabase({ url: fresh.url, moneyConnections: 2, connections: 1 }, () => undefined);
    const report = await new LedgerVerifier(database.money).verify();
    await database.close();
    if (!report.ok) {
      throw new Error(`the books are wrong: ${JSON.stringify(report.violations.slice(0, 3))}`);
    }
    return report.durationMs;
  } finally {
    await fresh.stop();
  }
}

function figure(result: LoadResult): string {
  return `${result.perSecond.toFixed(0)} (p50 / p99 ${result.p50Ms.toFixed(1)} / ${result.p99Ms.toFixed(1)} ms)`;
}

const postgres = await startBenchPostgres();
try {
  const [hot] = await makeAccounts(postgres.url, 1);
  const cold = await makeAccounts(postgres.url, COLD_ACCOUNTS);
  const baselineHot = await measureTransactions(postgres.ownerUrl, [hot!]);
  const baselineCold = await measureTransactions(postgres.ownerUrl, cold);
  const lanesHot = await measureLanes(postgres.url, [hot!]);
  const sealedHot = await measureSealedLanes(postgres.url, [hot!]);
  const lanesCold = await measureLanes(postgres.url, cold);
  const sealedCold = await measureSealedLanes(postgres.url, cold);
  const [grown] = await makeAccounts(await aMonthAgo(postgres), 1);
  await addHistory(postgres, grown!, HISTORY_ROWS);
  const grownHot = await measureLanes(postgres.url, [grown!]);
  const grownCold = await measureLanes(postgres.url, cold);
  const verifyMs = await measureVerify();
  const ratio = (a: LoadResult, b: LoadResult) => `${(a.perSecond / b.perSecond).toFixed(2)} ×`;
  publishResult({
    conditions: `Reserve and settle, both durable (fsync on), ${CLIENTS} clients, one process; the baseline is one transaction per request.`,
    rows: [
      {
        figure: 'reserve + settle per second, 1 account',
        baseline: figure(baselineHot),
        tollgate: figure(lanesHot),
        compared: ratio(lanesHot, baselineHot),
      },
      {
        figure: 'reserve + settle per second, 1,000 accounts',
        baseline: figure(baselineCold),
        tollgate: figure(lanesCold),
        compared: `${ratio(lanesCold, baselineCold)}; one hot account is ${ratio(lanesHot, lanesCold)} of it`,
      },
      {
        figure: '… while entries are sealed, 1 account',
        baseline: '',
        tollgate: figure(sealedHot),
        compared: `${ratio(sealedHot, lanesHot)} without`,
      },
      {
        figure: '… while entries are sealed, 1,000 accounts',
        baseline: '',
        tollgate: figure(sealedCold),
        compared: `${ratio(sealedCold, lanesCold)} without`,
      },
      {
        figure: `… after ${HISTORY_ROWS.toLocaleString('en')} ledger rows, 1 account`,
        baseline: '',
        tollgate: figure(grownHot),
        compared: `${ratio(grownHot, lanesHot)} before`,
      },
      {
        figure: `… after ${HISTORY_ROWS.toLocaleString('en')} ledger rows, 1,000 accounts`,
        baseline: '',
        tollgate: figure(grownCold),
        compared: `${ratio(grownCold, lanesCold)} before`,
      },
      {
        figure: `proof of ${VERIFY_ROWS.toLocaleString('en')} ledger entries`,
        baseline: '',
        tollgate: `${(verifyMs / 1_000).toFixed(1)} s`,
        compared: '',
      },
    ],
  });
} finally {
  await postgres.stop();
}

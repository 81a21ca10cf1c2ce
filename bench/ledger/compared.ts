import pg from 'pg';
import { LedgerVerifier } from '../../src/ledger/ledger-verifier.ts';
import { createDatabase } from '../../src/store/database.ts';
import type { TestAccount } from '../../test/factories/ledger.ts';
import { startBenchPostgres } from '../measure/bench-postgres.ts';
import { type LoadResult, runClients } from '../measure/clients.ts';
import { type BenchResult, type BenchRow, comparedTable } from '../measure/result.ts';
import { spreadTextOf } from '../measure/spread.ts';
import {
  AMOUNT,
  accountWithHistory,
  CLIENTS,
  type Load,
  makeAccounts,
  measureLanes,
  measureSealedLanes,
} from './lanes.ts';
import { figureOf, ratioOf } from './ledger-figures.ts';
import { reserveAndSettle } from './transaction-per-request.ts';

const COLD_ACCOUNTS = 1_000;
const BASELINE_CLIENTS = 64;
const SEAL_MS = 1_000;

interface Effort {
  readonly rounds: number;
  readonly load: Load;
  readonly historyRows: number;
  readonly verifyRows: number;
}

const FULL: Effort = {
  rounds: 3,
  load: { warmUpMs: 2_000, measureMs: 8_000 },
  historyRows: 2_000_000,
  verifyRows: 1_000_000,
};
const QUICK: Effort = {
  rounds: 1,
  load: { warmUpMs: 500, measureMs: 2_000 },
  historyRows: 100_000,
  verifyRows: 50_000,
};

/** Measures the baseline with the pool size that suits it best. */
async function measureTransactions(
  ownerUrl: string,
  accounts: readonly TestAccount[],
  load: Load,
): Promise<LoadResult> {
  let best: LoadResult | undefined;
  for (const connections of [4, 16]) {
    const pool = new pg.Pool({ connectionString: ownerUrl, max: connections });
    pool.on('error', () => undefined);
    let next = 0;
    const result = await runClients({ ...load, clients: BASELINE_CLIENTS }, () =>
      reserveAndSettle(pool, accounts[next++ % accounts.length]!, AMOUNT),
    );
    await pool.end();
    best = best === undefined || result.perSecond > best.perSecond ? result : best;
  }
  return best!;
}

/** Returns how long a proof of the whole ledger takes, in ms. */
async function measureVerify(rows: number): Promise<number> {
  const fresh = await startBenchPostgres();
  try {
    await accountWithHistory(fresh, rows);
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

/** The rows, each with its measurement of one round. */
type Rounds = Record<
  | 'transactionsHot'
  | 'transactionsCold'
  | 'hot'
  | 'sealedHot'
  | 'cold'
  | 'sealedCold'
  | 'grownHot'
  | 'grownCold',
  LoadResult[]
>;

/** Compares reserve and settle through the lanes with one transaction per request, and measures what sealing and history cost them. */
export async function measureCompared(isQuick: boolean): Promise<BenchResult> {
  const effort = isQuick ? QUICK : FULL;
  const { load, rounds } = effort;
  const found: Rounds = {
    ...{ transactionsHot: [], transactionsCold: [], hot: [], sealedHot: [] },
    ...{ cold: [], sealedCold: [], grownHot: [], grownCold: [] },
  };
  const postgres = await startBenchPostgres();
  try {
    const hot = await makeAccounts(postgres.url, 1);
    const cold = await makeAccounts(postgres.url, COLD_ACCOUNTS);
    for (let round = 0; round < rounds; round += 1) {
      found.transactionsHot.push(await measureTransactions(postgres.ownerUrl, hot, load));
      found.transactionsCold.push(await measureTransactions(postgres.ownerUrl, cold, load));
      found.hot.push(...(await measureLanes(postgres.url, hot, [load])));
      found.sealedHot.push(...(await measureSealedLanes(postgres.url, hot, [load], SEAL_MS)));
      found.cold.push(...(await measureLanes(postgres.url, cold, [load])));
      found.sealedCold.push(...(await measureSealedLanes(postgres.url, cold, [load], SEAL_MS)));
    }
    const grown = [await accountWithHistory(postgres, effort.historyRows)];
    for (let round = 0; round < rounds; round += 1) {
      found.grownHot.push(...(await measureLanes(postgres.url, grown, [load])));
      found.grownCold.push(...(await measureLanes(postgres.url, cold, [load])));
    }
  } finally {
    await postgres.stop();
  }
  const verifyMs: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    verifyMs.push(await measureVerify(effort.verifyRows));
  }
  return resultOf(found, verifyMs, effort);
}

function resultOf(found: Rounds, verifyMs: readonly number[], effort: Effort): BenchResult {
  const history = effort.historyRows.toLocaleString('en');
  const row = (
    figure: string,
    tollgate: readonly LoadResult[],
    compared: string,
    baseline: readonly LoadResult[] = [],
  ): BenchRow => ({
    figure,
    baseline: baseline.length > 0 ? figureOf(baseline) : '',
    tollgate: figureOf(tollgate),
    compared,
  });
  const times = ratioOf(found.hot, found.transactionsHot);
  return {
    conditions: `Reserve and settle, both durable (fsync on), ${CLIENTS} clients, one process; the baseline is one transaction per request. Medians of ${effort.rounds} rounds of ${effort.load.measureMs / 1_000} s, [least–most].`,
    tables: [
      comparedTable([
        row('reserve + settle per second, 1 account', found.hot, times, found.transactionsHot),
        row(
          'reserve + settle per second, 1,000 accounts',
          found.cold,
          `${ratioOf(found.cold, found.transactionsCold)}; one hot account is ${ratioOf(found.hot, found.cold)} of it`,
          found.transactionsCold,
        ),
        row(
          '… while entries are sealed, 1 account',
          found.sealedHot,
          `${ratioOf(found.sealedHot, found.hot)} without`,
        ),
        row(
          '… while entries are sealed, 1,000 accounts',
          found.sealedCold,
          `${ratioOf(found.sealedCold, found.cold)} without`,
        ),
        row(
          `… after ${history} ledger rows, 1 account`,
          found.grownHot,
          `${ratioOf(found.grownHot, found.hot)} before`,
        ),
        row(
          `… after ${history} ledger rows, 1,000 accounts`,
          found.grownCold,
          `${ratioOf(found.grownCold, found.cold)} before`,
        ),
        {
          figure: `proof of ${effort.verifyRows.toLocaleString('en')} ledger entries`,
          baseline: '',
          tollgate: `${spreadTextOf(
            verifyMs.map((ms) => ms / 1_000),
            1,
          )} s`,
          compared: '',
        },
      ]),
    ],
    headlines: {
      ledger: `**${spreadTextOf(found.hot.map(({ perSecond }) => perSecond))}** holds and settlements a second on one hot account: ${times} the rate of one transaction per request.`,
    },
  };
}

import pg from 'pg';
import { PostgresLedger } from '../../src/ledger/ledger.engine.ts';
import { LedgerStore } from '../../src/ledger/ledger.store.ts';
import { LedgerVerifier } from '../../src/ledger/ledger-verifier.ts';
import { NightlyProof } from '../../src/ledger/nightly-proof.ts';
import { StatementProof } from '../../src/ledger/statement-proof.ts';
import { every } from '../../src/lib/every.ts';
import { nanoUsd } from '../../src/lib/money.ts';
import { createDatabase, type Database } from '../../src/store/database.ts';
import { holdRequest, settlement, silentLog, silentObserver } from '../../test/factories/ledger.ts';
import { testMonthClose } from '../../test/factories/month-close.ts';
import { seconds } from './stopwatch.ts';
import { monthOf, placeAll, type Year } from './write-year.ts';
import type { YearPostgres } from './year-postgres.ts';

const AMOUNT = nanoUsd(1_000_000n);
/** Months after the first one; the year has twelve, and one more day. */
const QUARTER_BEGINS = 9;
const QUIET_MS = 3_000;
const BETWEEN_CALLS_MS = 20;

export interface FullProof {
  readonly seconds: number;
  /** Seconds of the slowest invariant. A statement may take 300 s. */
  readonly longestSeconds: number;
}

/** Proves all of history. Throws an Error when the books are wrong: then the generator or the product has a bug. */
export async function proveAll(database: Database): Promise<FullProof> {
  let [longestSeconds, last] = [0, performance.now()];
  const report = await new LedgerVerifier(database.money).verify(undefined, () => {
    const now = performance.now();
    longestSeconds = Math.max(longestSeconds, (now - last) / 1_000);
    last = now;
  });
  assertNone(report.violations);
  return { seconds: report.durationMs / 1_000, longestSeconds };
}

/** The number of new entries, and how long their proof took. */
export interface NightProof {
  readonly entries: number;
  readonly seconds: number;
}

/**
 * Runs the nightly proof over one new day. Throws an Error when the books are wrong, when fewer entries than the new ones were proven, or
 * when an account was proven as a whole.
 */
export async function proveNight(database: Database, { newEntries }: Year): Promise<NightProof> {
  const proven = await prove(database);
  if (proven.entries < newEntries) {
    throw new Error(`the night saw ${proven.entries} of ${newEntries} new entries`);
  }
  return proven;
}

/**
 * Runs the proof after nights without one: everything since the third month before the last is new. Throws like {@link proveNight}, except
 * for the number of entries.
 */
export async function proveQuarter(database: Database, { firstMonth }: Year): Promise<NightProof> {
  await placeAll(database, monthOf(firstMonth, QUARTER_BEGINS));
  return await prove(database);
}

async function prove(database: Database): Promise<NightProof> {
  const proof = new NightlyProof({
    pool: database.money,
    verifier: new LedgerVerifier(database.money),
    statements: new StatementProof(database.money),
    // the part of closed months that is proven again is the same each night, and at small sizes it would dominate
    entriesAgain: 1,
  });
  const [report, took] = await seconds(() => proof.prove());
  assertNone(report.violations);
  if (report.whole > 0) {
    throw new Error(`the night saw ${report.whole} accounts whole`);
  }
  return { seconds: took, entries: report.entries };
}

export interface Closing {
  /** Seconds until every account but the poisoned one was closed and its document made. */
  readonly seconds: number;
  readonly statements: number;
  readonly failed: number;
  /** Longest time that a call of the largest account took to hold and to settle, before and during the closing. */
  readonly quietWaitMs: number;
  readonly waitMs: number;
  /** Calls made during the closing. */
  readonly callsMeanwhile: number;
}

/**
 * Closes the past month for all accounts, while another session locks the balance of one account and the largest account keeps calling;
 * then closes that one account. Throws an Error when more than that one failed.
 */
export async function closeMonth(postgres: YearPostgres, database: Database, year: Year): Promise<Closing> {
  const caller = startCalls(postgres.url, year);
  const poison = new pg.Client({ connectionString: postgres.ownerUrl });
  await poison.connect();
  let closing: Closing;
  try {
    await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
    const [quietWaitMs, callsBefore] = [caller.takeLongest(), caller.calls()];
    await poison.query('BEGIN');
    await poison.query('SELECT 1 FROM balances WHERE account_id = $1 FOR UPDATE', [year.poisoned]);
    const [report, took] = await seconds(() => testMonthClose(database).closeDueMonths());
    const [waitMs, callsMeanwhile] = [caller.takeLongest(), caller.calls() - callsBefore];
    closing = { seconds: took, ...report, quietWaitMs, waitMs, callsMeanwhile };
  } finally {
    await poison.end();
    await caller.stop();
  }
  const rest = await testMonthClose(database).closeDueMonths();
  if (
    closing.failed !== 1 ||
    rest.failed !== 0 ||
    closing.statements + rest.statements !== year.shape.accounts
  ) {
    throw new Error(`closed ${JSON.stringify([closing, rest])} of ${year.shape.accounts} accounts`);
  }
  await new LedgerVerifier(database.money).seal();
  return closing;
}

/** Starts calls of the largest account, one after the other, through its own ledger. */
function startCalls(url: string, { largest }: Year) {
  const database = createDatabase({ url, moneyConnections: 4, connections: 1 }, () => undefined);
  const ledger = new PostgresLedger(new LedgerStore(database.money), silentLog, silentObserver);
  let [longestMs, calls] = [0, 0];
  const timed = async <T>(work: () => Promise<T>): Promise<T> => {
    const [result, took] = await seconds(work);
    longestMs = Math.max(longestMs, took * 1_000);
    return result;
  };
  const call = async () => {
    const hold = await timed(() => ledger.reserve(holdRequest(largest, AMOUNT)));
    await timed(() => ledger.settle(settlement(hold, AMOUNT)));
    calls += 1;
  };
  // a rejected call ends the run: a customer must be served while their account closes
  let refusal: unknown;
  const calling = every(BETWEEN_CALLS_MS, () => call().catch((error: unknown) => (refusal ??= error)));
  return {
    calls: () => calls,
    takeLongest: () => {
      const longest = longestMs;
      longestMs = 0;
      return longest;
    },
    stop: async () => {
      await calling.close();
      await ledger.close();
      await database.close();
      if (refusal !== undefined) {
        throw refusal;
      }
    },
  };
}

function assertNone(violations: readonly unknown[]): void {
  if (violations.length > 0) {
    throw new Error(`the books are wrong: ${JSON.stringify(violations.slice(0, 3))}`);
  }
}

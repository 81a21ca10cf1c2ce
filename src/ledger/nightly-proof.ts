import type pg from 'pg';
import { forEachIsolated } from '../lib/for-each-isolated.ts';
import { publicId } from '../lib/ids.ts';
import { jsonParameter, run } from '../store/statement.ts';
import type { BookRoots } from './book-roots.ts';
import { invariantValues } from './invariants.sql.ts';
import type { Violation } from './ledger.types.ts';
import { forgetCleanChecks, latestChecks, recordCheck } from './ledger-checks.sql.ts';
import { type LastCheck, type LedgerVerifier, violationsOfRows } from './ledger-verifier.ts';
import {
  accountsToProve,
  callsNotMatchingEntries,
  NIGHTLY_INVARIANTS,
  placeProofs,
  settledUntil,
} from './nightly-proof.sql.ts';
import { inSnapshot, PROOF_TIMEOUT_MS } from './proof-snapshot.ts';
import { rollupsNotMatchingEntries } from './statement-proof.sql.ts';
import type { StatementProof } from './statement-proof.ts';
import { cutSlice, queryProof, type Slice, type Walked, walkEntries } from './walk-entries.ts';

const RESEALED = 'I16: the seals of entries are those they had when they were proven';
/** Entries are dated under a lock that is never held this long, and sealed every minute. */
const GRACE_MINUTES = 10;
const ACCOUNTS_PER_PAGE = 200;
/** Entries that can be sorted in memory and walked within one statement's time. An account with more is walked hour by hour. */
const ENTRIES_AT_ONCE = 200_000;
/** Entries of closed months proven again in each proof: takes seconds, and covers a small installation completely. */
const ENTRIES_AGAIN = 250_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
const VIOLATIONS_MAX = 100;
/** Days to keep a check that found nothing: there is one every minute. */
const CHECK_DAYS = 90;

interface AccountToProve {
  readonly account: string;
  /** Everything booked before this is proven; null when nothing is. */
  readonly since: Date | null;
  readonly seq: string;
  readonly balance: string;
  /** Number of entries booked since. */
  readonly entries: string;
  /** Whether the last proven entry still has the same seal. */
  readonly is_as_sealed: boolean;
  /** Whether balance, usage, debt and keys are what was proven plus what was booked since. */
  readonly adds_up: boolean;
}
type KnownAccount = AccountToProve & { readonly since: Date };

export interface NightlyReport {
  readonly accounts: number;
  /** Number of new entries. */
  readonly entries: number;
  /** Accounts proven over their whole history because they are new or do not continue from what was proven. */
  readonly whole: number;
  /** Number of final statements proven again. */
  readonly statements: number;
  readonly violations: readonly Violation[];
}

interface Parts {
  readonly pool: pg.Pool;
  readonly verifier: Pick<LedgerVerifier, 'verify'>;
  readonly statements: Pick<StatementProof, 'proveAgain'>;
  readonly roots?: Pick<BookRoots, 'compare'> | undefined;
  /** Entries of closed months to prove again in each proof. */
  readonly entriesAgain?: number;
}

/**
 * Proves what is new since the last time, that it continues from what was proven, the current state of the books, and a part of the closed
 * months in rotation. The cost grows with what is new, not with history. An account that does not continue from what was proven is proven
 * whole, and only what that finds is a violation.
 */
export class NightlyProof {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Proves the books and stores the result. Rethrows a Postgres error of one account after all others were proven; then stores nothing. */
  async prove(): Promise<NightlyReport> {
    const { pool, statements, roots, entriesAgain = ENTRIES_AGAIN } = this.#parts;
    const startedAt = performance.now();
    const checks = await run<LastCheck>(pool, latestChecks, []);
    const last = checks.find(({ kind }) => kind === 'nightly');
    const since = last ? startOfDay(last.at.getTime() - DAY_MS) : null;
    const walked = await this.#proveAccounts();
    const again = await statements.proveAgain(entriesAgain);
    const violations = [
      ...walked.violations,
      ...(await this.#violationsOfState(since)),
      ...again.violations,
      ...((await roots?.compare(since ?? undefined)) ?? []),
    ].slice(0, VIOLATIONS_MAX);
    const durationMs = Math.round(performance.now() - startedAt);
    await run(pool, recordCheck, ['nightly', walked.accounts, jsonParameter(violations), durationMs]);
    await run(pool, forgetCleanChecks, [CHECK_DAYS]);
    return { ...walked, statements: again.statements, violations };
  }

  async #proveAccounts(): Promise<Omit<NightlyReport, 'statements'>> {
    const { pool } = this.#parts;
    const [{ until } = { until: new Date(0) }] = await run<{ until: Date }>(pool, settledUntil, [
      GRACE_MINUTES,
    ]);
    const failures: unknown[] = [];
    const violations: Violation[] = [];
    let [count, entries, whole] = [0, 0, 0];
    for (let after: string | null = null; ; ) {
      const page: AccountToProve[] = await queryProof(pool, accountsToProve, [after, ACCOUNTS_PER_PAGE]);
      const prove = async (accounts: readonly AccountToProve[]) => {
        whole += await this.#provePage(accounts, until, { violations, failures });
      };
      await forEachIsolated([page], prove, { onFailure: (_, error) => failures.push(error) });
      count += page.length;
      entries += page.reduce((sum, account) => sum + Number(account.entries), 0);
      after = page.at(-1)?.account ?? null;
      if (page.length < ACCOUNTS_PER_PAGE) {
        break;
      }
    }
    if (failures.length > 0) {
      throw failures[0];
    }
    return { accounts: count, entries, whole, violations };
  }

  /** Proves a page of accounts. Returns how many of them it proved whole. */
  async #provePage(
    page: readonly AccountToProve[],
    until: Date,
    found: { readonly violations: Violation[]; readonly failures: unknown[] },
  ): Promise<number> {
    const { pool, verifier } = this.#parts;
    for (const { account, seq } of page.filter(({ is_as_sealed }) => !is_as_sealed)) {
      const detail = `an entry up to seq ${seq} was changed and sealed again`;
      found.violations.push({ claim: RESEALED, object: publicId('account', account), detail });
    }
    const known = page.filter((row): row is KnownAccount => row.since !== null && row.is_as_sealed);
    const moved = known.filter(({ entries, since }) => entries !== '0' && since < until);
    const doubtful = await this.#doubtful(known, moved, until);
    const sound = moved.map(({ account }) => account).filter((account) => !doubtful.has(account));
    const anew = page.filter(({ since }) => since === null).map(({ account }) => account);
    const whole = [...anew, ...doubtful];
    const proveWhole = async (account: string) => {
      const { violations } = await verifier.verify(account);
      found.violations.push(...violations);
      if (violations.length === 0) {
        sound.push(account);
      }
    };
    await forEachIsolated(whole, proveWhole, { onFailure: (_, error) => found.failures.push(error) });
    await queryProof(pool, placeProofs, [sound, until], 'READ WRITE');
    return whole.length;
  }

  /** Returns the accounts that do not continue from what was proven. */
  async #doubtful(
    known: readonly KnownAccount[],
    moved: readonly KnownAccount[],
    until: Date,
  ): Promise<Set<string>> {
    const { pool } = this.#parts;
    const doubtful = new Set(known.filter(({ adds_up }) => !adds_up).map(({ account }) => account));
    const values = [known.map(({ account }) => account), known.map(({ since }) => since)];
    for (const { account } of await queryProof<{ account: string }>(pool, callsNotMatchingEntries, values)) {
      doubtful.add(account);
    }
    const isLarge = ({ entries }: AccountToProve) => Number(entries) > ENTRIES_AT_ONCE;
    const sliceOf = ({ account, since }: KnownAccount): Slice => ({ account, since, until });
    for (const batch of inBatches(moved.filter((account) => !isLarge(account)))) {
      const pieces = await this.#walk(batch.map(sliceOf), doubtful);
      for (const [index, account] of batch.entries()) {
        judge(account, pieces.slice(index, index + 1), doubtful);
      }
    }
    for (const account of moved.filter(isLarge)) {
      const hours: Walked[] = [];
      for (const hour of cutSlice(sliceOf(account), HOUR_MS)) {
        hours.push(...(await this.#walk([hour], doubtful)));
      }
      judge(account, hours, doubtful);
    }
    return doubtful;
  }

  async #walk(slices: readonly Slice[], doubtful: Set<string>): Promise<readonly Walked[]> {
    const { pool } = this.#parts;
    const accounts = slices.map(({ account }) => account);
    const values = [accounts, slices.map(({ since }) => since), slices.map(({ until }) => until), accounts];
    for (const { object } of await queryProof<{ object: string }>(pool, rollupsNotMatchingEntries, values)) {
      doubtful.add(object);
    }
    return await walkEntries(pool, slices);
  }

  /** Returns what is wrong with the books in their current state. */
  #violationsOfState(since: Date | null): Promise<Violation[]> {
    return inSnapshot(this.#parts.pool, 'READ ONLY', async (client) => {
      const found: Violation[] = [];
      // the history these queries need has an index; a sequential scan would read all of it
      await client.query('SET LOCAL enable_seqscan = off');
      for (const invariant of NIGHTLY_INVARIANTS) {
        const values = invariantValues(invariant, null, since);
        const query = { text: invariant.text, values, query_timeout: PROOF_TIMEOUT_MS };
        const { rows } = await client.query<{ object: string; detail: string }>(query);
        found.push(...violationsOfRows(invariant, rows));
      }
      return found;
    });
  }
}

/** Groups accounts whose new entries fit into one statement together. */
function* inBatches(accounts: readonly KnownAccount[]): Generator<readonly KnownAccount[]> {
  let batch: KnownAccount[] = [];
  let entries = 0;
  for (const account of accounts) {
    entries += Number(account.entries);
    if (entries > ENTRIES_AT_ONCE && batch.length > 0) {
      yield batch;
      batch = [];
      entries = Number(account.entries);
    }
    batch.push(account);
  }
  yield batch;
}

/** Adds the account to `doubtful` unless its new entries continue from what was proven. `pieces`: all of them, oldest first. */
function judge({ account, seq, balance }: AccountToProve, pieces: readonly Walked[], doubtful: Set<string>) {
  const [first] = pieces;
  const total = (name: 'usage' | 'rolled_up') => pieces.reduce((sum, piece) => sum + BigInt(piece[name]), 0n);
  const goesOn = first?.opening_seq === seq && first.opening === balance;
  if (!goesOn || pieces.some(({ faults }) => faults.length > 0) || total('usage') !== total('rolled_up')) {
    doubtful.add(account);
  }
}

function startOfDay(timeMs: number): Date {
  return new Date(Math.floor(timeMs / DAY_MS) * DAY_MS);
}

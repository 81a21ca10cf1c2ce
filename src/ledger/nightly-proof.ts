import type pg from 'pg';
import { eachApart } from '../lib/each-apart.ts';
import { publicId } from '../lib/ids.ts';
import { run } from '../store/statement.ts';
import type { BookRoots } from './book-roots.ts';
import { invariantValues } from './invariants.sql.ts';
import type { Violation } from './ledger.types.ts';
import { forgetCleanChecks, latestChecks, recordCheck } from './ledger-checks.sql.ts';
import { type LastCheck, type LedgerVerifier, violationsOfRows } from './ledger-verifier.ts';
import {
  accountsToProve,
  callsUnlikeEntries,
  NIGHTLY_INVARIANTS,
  placeProofs,
  settledUntil,
} from './nightly-proof.sql.ts';
import { inSnapshot, PROOF_TIMEOUT_MS } from './proof-snapshot.ts';
import { rollupsUnlikeEntries } from './statement-proof.sql.ts';
import type { StatementProof } from './statement-proof.ts';
import { cutSlice, queryProof, type Slice, type Walked, walkEntries } from './walk-entries.ts';

const RESEALED = 'I16: entries are sealed as they were when they were proven';
/** Entries are dated under a lock that nothing holds that long, and sealed each minute. */
const GRACE_MINUTES = 10;
const ACCOUNTS_PER_PAGE = 200;
/** Sorted in memory, and within one statement's time; an account with more is walked hour by hour. */
const ENTRIES_AT_ONCE = 200_000;
/** Of closed months, proven again in each proof: seconds, and a small installation whole. */
const ENTRIES_AGAIN = 250_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
const VIOLATIONS_MAX = 100;
/** Days that a check which found nothing is kept: there is one a minute. */
const CHECK_DAYS = 90;

interface AccountToProve {
  readonly account: string;
  /** What was booked before is proven; null: nothing is. */
  readonly since: Date | null;
  readonly seq: string;
  readonly balance: string;
  /** Booked since. */
  readonly entries: string;
  /** The last proven entry is sealed as it was. */
  readonly is_as_sealed: boolean;
  /** Balance, usage, debt and keys are what was proven and what was booked since. */
  readonly adds_up: boolean;
}
type KnownAccount = AccountToProve & { readonly since: Date };

export interface NightlyReport {
  readonly accounts: number;
  /** Entries that are new. */
  readonly entries: number;
  /** Accounts that were proven whole, because they are new or did not go on from where they were. */
  readonly whole: number;
  /** Final statements that were proven again. */
  readonly statements: number;
  readonly violations: readonly Violation[];
}

interface Parts {
  readonly pool: pg.Pool;
  readonly verifier: Pick<LedgerVerifier, 'verify'>;
  readonly statements: Pick<StatementProof, 'proveAgain'>;
  readonly roots?: Pick<BookRoots, 'compare'> | undefined;
  /** Of closed months, proven again in each proof. */
  readonly entriesAgain?: number;
}

/**
 * Proves what is new since the last time, that it goes on from what was proven, what the books are now, and a part of the closed months
 * in rotation: its cost follows what is new, not history. An account that does not go on from where it was is proven whole, and only
 * what that finds is a violation.
 */
export class NightlyProof {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Keeps the result. Throws what Postgres threw for an account, after all others were proven; then nothing is kept. */
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
    await run(pool, recordCheck, ['nightly', walked.accounts, JSON.stringify(violations), durationMs]);
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
      await eachApart([page], prove, { onFailure: (_, error) => failures.push(error) });
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

  /** Returns how many accounts it proved whole. */
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
    await eachApart(whole, proveWhole, { onFailure: (_, error) => found.failures.push(error) });
    await queryProof(pool, placeProofs, [sound, until], 'READ WRITE');
    return whole.length;
  }

  /** Accounts that do not go on from what was proven. */
  async #doubtful(
    known: readonly KnownAccount[],
    moved: readonly KnownAccount[],
    until: Date,
  ): Promise<Set<string>> {
    const { pool } = this.#parts;
    const doubtful = new Set(known.filter(({ adds_up }) => !adds_up).map(({ account }) => account));
    const values = [known.map(({ account }) => account), known.map(({ since }) => since)];
    for (const { account } of await queryProof<{ account: string }>(pool, callsUnlikeEntries, values)) {
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
    for (const { object } of await queryProof<{ object: string }>(pool, rollupsUnlikeEntries, values)) {
      doubtful.add(object);
    }
    return await walkEntries(pool, slices);
  }

  /** What is wrong with the books as they are now. */
  #violationsOfState(since: Date | null): Promise<Violation[]> {
    return inSnapshot(this.#parts.pool, 'READ ONLY', async (client) => {
      const found: Violation[] = [];
      // what these ask of history has an index; a scan would read all of it
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

/** Accounts whose new entries fit into one statement together. */
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

/** `pieces` of what is new, oldest first: all of it. */
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

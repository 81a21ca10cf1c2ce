import type pg from 'pg';
import { run } from '../store/statement.ts';
import type { Violation } from './ledger.types.ts';
import {
  documentsNotMatchingIssued,
  rememberProven,
  rollupsNotMatchingEntries,
  statementsToProve,
  statementsToReprove,
} from './statement-proof.sql.ts';
import {
  cutSlice,
  type Position,
  queryProof,
  type Slice,
  SUMS,
  type Walked,
  walkEntries,
} from './walk-entries.ts';

const CLAIM = 'I11: a statement matches its entries, their calls, seals and roll-ups';
const DAY_MS = 86_400_000;
/** Entries that can be sorted in memory and walked within one statement's time. */
const ENTRIES_AT_ONCE = 200_000n;
/** Statements proven again by one query. */
const REPROVEN_TOGETHER = 100;

interface StatedMonth extends Position, Readonly<Record<(typeof SUMS)[number], string>> {
  readonly id: string;
  readonly account_id: string;
  readonly period_start: Date;
  readonly period_end: Date;
}

/**
 * Proves monthly statements: each entry of a month continues the one before, equals its call and matches its seal, and all of
 * them add up to what is stated. Reads only these months, whatever came before, and holds no lock.
 */
export class StatementProof {
  readonly #pool: pg.Pool;
  readonly #entriesAtOnce: bigint;

  /** `entriesAtOnce`: a month with more entries is walked day by day. */
  constructor(pool: pg.Pool, entriesAtOnce = ENTRIES_AT_ONCE) {
    this.#pool = pool;
    this.#entriesAtOnce = entriesAtOnce;
  }

  /** Returns, by account, what is wrong with the statements of these accounts that are not final. Throws Postgres errors. */
  async prove(accountIds: readonly string[]): Promise<ReadonlyMap<string, readonly Violation[]>> {
    const months = await queryProof<StatedMonth>(this.#pool, statementsToProve, [accountIds]);
    const found = new Map<string, Violation[]>();
    for (const [{ account_id: account }, violations] of await this.#judge(months)) {
      if (violations.length > 0) {
        found.set(account, [...(found.get(account) ?? []), ...violations]);
      }
    }
    return found;
  }

  /**
   * Proves final statements again, with their documents, until `entries` are read; those unproven for the longest time come first.
   * Returns how many it proved and what is wrong. A statement with violations comes first again the next time. Throws Postgres errors.
   */
  async proveAgain(entries: number): Promise<{ statements: number; violations: readonly Violation[] }> {
    const months = await queryProof<StatedMonth>(this.#pool, statementsToReprove, [entries]);
    const found: Violation[] = [];
    for (let start = 0; start < months.length; start += REPROVEN_TOGETHER) {
      const part = months.slice(start, start + REPROVEN_TOGETHER);
      const judged = await this.#judge(part);
      const further = await this.#furtherViolations(part);
      for (const [{ id }, violations] of judged) {
        violations.push(...further.filter(({ object }) => object === id));
      }
      found.push(...[...judged.values()].flat());
      const sound = part.filter((month) => judged.get(month)?.length === 0);
      await run(this.#pool, rememberProven, [sound.map(({ id }) => id), sound.map((row) => row.account_id)]);
    }
    return { statements: months.length, violations: found };
  }

  /** Compares the roll-ups by key, endpoint and model, and the issued documents, of statements. */
  async #furtherViolations(months: readonly StatedMonth[]): Promise<Violation[]> {
    const ids = months.map(({ id }) => id);
    const slices = months.map(sliceOf);
    const rows = [
      ...(await queryProof<{ object: string; detail: string }>(this.#pool, rollupsNotMatchingEntries, [
        slices.map(({ account }) => account),
        slices.map(({ since }) => since),
        slices.map(({ until }) => until),
        ids,
      ])),
      ...(await queryProof<{ object: string; detail: string }>(this.#pool, documentsNotMatchingIssued, [
        ids,
      ])),
    ];
    return rows.map(({ object, detail }) => ({ claim: CLAIM, object, detail }));
  }

  /** Returns what is wrong with each month. */
  async #judge(months: readonly StatedMonth[]): Promise<Map<StatedMonth, Violation[]>> {
    const isLarge = (month: StatedMonth) =>
      BigInt(month.closing_seq) - BigInt(month.opening_seq) > this.#entriesAtOnce;
    const small = months.filter((month) => !isLarge(month));
    const walked = await walkEntries(this.#pool, small.map(sliceOf));
    const judged = new Map(months.map((month) => [month, [] as Violation[]]));
    for (const [index, month] of small.entries()) {
      judged.set(month, violationsOf(month, walked.slice(index, index + 1)));
    }
    for (const month of months.filter(isLarge)) {
      const days: Walked[] = [];
      for (const day of cutSlice(sliceOf(month), DAY_MS)) {
        days.push(...(await walkEntries(this.#pool, [day])));
      }
      judged.set(month, violationsOf(month, days));
    }
    return judged;
  }
}

function sliceOf({ account_id, period_start, period_end }: StatedMonth): Slice {
  return { account: account_id, since: period_start, until: period_end };
}

/** Returns the violations of a month. `slices`: all of the month, oldest first. */
function violationsOf(month: StatedMonth, slices: readonly Walked[]): Violation[] {
  const total = (name: (typeof SUMS)[number] | 'entries' | 'rolled_up') =>
    slices.reduce((sum, slice) => sum + BigInt(slice[name]), 0n);
  const first = slices[0];
  const last = slices.at(-1);
  const wrong = slices.flatMap(({ faults }) => faults);
  const compare = (what: string, stated: unknown, found: unknown) => {
    if (stated !== found) {
      wrong.push(`states ${what} ${stated}, the ledger has ${found}`);
    }
  };
  compare('opening', month.opening, first?.opening);
  compare('opening_seq', month.opening_seq, first?.opening_seq);
  compare('closing', month.closing, last?.closing);
  compare('closing_seq', month.closing_seq, last?.closing_seq);
  compare('digest', month.digest, last?.digest);
  compare('entries', BigInt(month.closing_seq) - BigInt(month.opening_seq), total('entries'));
  for (const name of SUMS) {
    compare(name, BigInt(month[name]), total(name));
  }
  compare('usage', BigInt(month.usage), total('rolled_up'));
  return wrong.map((detail) => ({ claim: CLAIM, object: month.id, detail }));
}

import type pg from 'pg';
import type { Violation } from './ledger.types.ts';
import { inSnapshot, PROOF_TIMEOUT_MS } from './proof-snapshot.ts';
import { statementsToProve, walkSlices } from './statement-proof.sql.ts';

const CLAIM = 'I11: a statement is what its entries, their calls, seals and roll-ups say';
const DAY_MS = 86_400_000;
/** Sorted in memory, and within one statement's time. */
const ENTRIES_AT_ONCE = 200_000n;

/** Amounts in nano-USD and positions, as decimal text. */
const SUMS = ['purchases', 'usage', 'refunds', 'adjustments'] as const;

interface Position {
  readonly opening: string;
  readonly opening_seq: string;
  readonly closing: string;
  readonly closing_seq: string;
  readonly digest: string | null;
}

/** A statement that is not final. */
interface StatedMonth extends Position, Readonly<Record<(typeof SUMS)[number], string>> {
  readonly id: string;
  readonly account_id: string;
  readonly period_start: Date;
  readonly period_end: Date;
}

interface Walked extends Position, Readonly<Record<(typeof SUMS)[number], string>> {
  readonly entries: string;
  readonly rolled_up: string;
  readonly faults: readonly string[];
}

interface Slice {
  readonly account: string;
  readonly since: Date;
  readonly until: Date;
}

/**
 * Proves statements that were made and are not final yet: each entry of their months follows the one before, equals its call and is
 * as it was sealed, and all of them add up to what is stated. Reads these months alone, whatever came before, and holds no lock.
 */
export class StatementProof {
  readonly #pool: pg.Pool;
  readonly #entriesAtOnce: bigint;

  /** `entriesAtOnce`: a month of more entries is walked day by day. */
  constructor(pool: pg.Pool, entriesAtOnce = ENTRIES_AT_ONCE) {
    this.#pool = pool;
    this.#entriesAtOnce = entriesAtOnce;
  }

  /** What is wrong with the statements of these accounts that are not final, by account. Throws what Postgres throws. */
  async prove(accountIds: readonly string[]): Promise<ReadonlyMap<string, readonly Violation[]>> {
    const months = await this.#query<StatedMonth>(statementsToProve, [accountIds]);
    const isLarge = (month: StatedMonth) =>
      BigInt(month.closing_seq) - BigInt(month.opening_seq) > this.#entriesAtOnce;
    const small = months.filter((month) => !isLarge(month));
    const found = new Map<string, Violation[]>();
    const judge = (month: StatedMonth, slices: readonly Walked[]) => {
      const violations = [...(found.get(month.account_id) ?? []), ...violationsOf(month, slices)];
      if (violations.length > 0) {
        found.set(month.account_id, violations);
      }
    };
    const walked = await this.#walk(small.map(sliceOf));
    for (const [index, month] of small.entries()) {
      judge(month, walked.slice(index, index + 1));
    }
    for (const month of months.filter(isLarge)) {
      const days: Walked[] = [];
      for (const day of daysOf(month)) {
        days.push(...(await this.#walk([day])));
      }
      judge(month, days);
    }
    return found;
  }

  #walk(slices: readonly Slice[]): Promise<Walked[]> {
    return slices.length === 0
      ? Promise.resolve([])
      : this.#query<Walked>(walkSlices, [
          slices.map(({ account }) => account),
          slices.map(({ since }) => since),
          slices.map(({ until }) => until),
        ]);
  }

  #query<Row extends pg.QueryResultRow>(
    { text }: { readonly text: string },
    values: unknown[],
  ): Promise<Row[]> {
    // without a name: the best plan depends on how many accounts there are
    return inSnapshot(this.#pool, 'READ ONLY', async (client) => {
      const query = { text, values, query_timeout: PROOF_TIMEOUT_MS };
      const { rows } = await client.query<Row>(query);
      return rows;
    });
  }
}

function sliceOf({ account_id, period_start, period_end }: StatedMonth): Slice {
  return { account: account_id, since: period_start, until: period_end };
}

function* daysOf({ account_id, period_start, period_end }: StatedMonth): Generator<Slice> {
  for (let start = period_start.getTime(); start < period_end.getTime(); start += DAY_MS) {
    yield { account: account_id, since: new Date(start), until: new Date(start + DAY_MS) };
  }
}

/** `slices` of the month, oldest first: all of it. */
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

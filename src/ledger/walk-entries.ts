import type pg from 'pg';
import { inSnapshot, PROOF_TIMEOUT_MS } from './proof-snapshot.ts';
import { walkSlices } from './statement-proof.sql.ts';

/** Entries of an account between two times; amounts are added up by what they are. */
export interface Slice {
  readonly account: string;
  /** Inclusive. A multiple of five minutes, as roll-ups are. */
  readonly since: Date;
  /** Exclusive, and a multiple of five minutes. */
  readonly until: Date;
}

/** Amounts in nano-USD and positions, as decimal text. */
export const SUMS = ['purchases', 'usage', 'refunds', 'adjustments'] as const;

/** What was there before the entries, and after them; digests in hex. */
export interface Position {
  readonly opening: string;
  readonly opening_seq: string;
  readonly closing: string;
  readonly closing_seq: string;
  readonly digest: string | null;
}

export interface Walked extends Position, Readonly<Record<(typeof SUMS)[number], string>> {
  readonly entries: string;
  /** What the five-minute roll-ups charged. */
  readonly rolled_up: string;
  /** Entries that do not follow the one before, are no equal of their call or not what was sealed. */
  readonly faults: readonly string[];
}

/** Walks slices, in one snapshot and in their order. Throws what Postgres throws. */
export async function walkEntries(pool: pg.Pool, slices: readonly Slice[]): Promise<readonly Walked[]> {
  return slices.length === 0
    ? []
    : await queryProof<Walked>(pool, walkSlices, [
        slices.map(({ account }) => account),
        slices.map(({ since }) => since),
        slices.map(({ until }) => until),
      ]);
}

/** Cuts a slice that is long into pieces of `lengthMs`, oldest first. */
export function* cutSlice({ account, since, until }: Slice, lengthMs: number): Generator<Slice> {
  for (let start = since.getTime(); start < until.getTime(); start += lengthMs) {
    const end = Math.min(start + lengthMs, until.getTime());
    yield { account, since: new Date(start), until: new Date(end) };
  }
}

/** A query of a proof about entries from some time on, with a proof's time. Throws what Postgres throws. */
export function queryProof<Row extends pg.QueryResultRow>(
  pool: pg.Pool,
  { text }: { readonly text: string },
  values: unknown[],
  access: 'READ ONLY' | 'READ WRITE' = 'READ ONLY',
): Promise<Row[]> {
  // without a name: the best plan depends on how many accounts there are
  return inSnapshot(pool, access, async (client) => {
    // times come from rows: Postgres takes a third of all history for new, and would read all of it
    await client.query('SET LOCAL enable_seqscan = off');
    const query = { text, values, query_timeout: PROOF_TIMEOUT_MS };
    const { rows } = await client.query<Row>(query);
    return rows;
  });
}

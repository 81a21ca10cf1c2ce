import type pg from 'pg';
import { inSnapshot, PROOF_TIMEOUT_MS } from './proof-snapshot.ts';
import { walkSlices } from './statement-proof.sql.ts';

/** The entries of an account between two times. */
export interface Slice {
  readonly account: string;
  /** Inclusive. A multiple of five minutes, like roll-ups. */
  readonly since: Date;
  /** Exclusive. A multiple of five minutes. */
  readonly until: Date;
}

/** The sums of a slice, by type of entry: nano-USD as decimal text. */
export const SUMS = ['purchases', 'usage', 'refunds', 'adjustments'] as const;

/** The balance and seq before the entries and after them, as decimal text; the digest after them, in hex. */
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
  /** Entries that do not continue the one before, do not match their call or differ from their seal. */
  readonly faults: readonly string[];
}

/** Walks slices in one snapshot. Returns their results in the same order. Throws Postgres errors. */
export async function walkEntries(pool: pg.Pool, slices: readonly Slice[]): Promise<readonly Walked[]> {
  return slices.length === 0
    ? []
    : await queryProof<Walked>(pool, walkSlices, [
        slices.map(({ account }) => account),
        slices.map(({ since }) => since),
        slices.map(({ until }) => until),
      ]);
}

/** Cuts a long slice into pieces of `lengthMs`, oldest first. */
export function* cutSlice({ account, since, until }: Slice, lengthMs: number): Generator<Slice> {
  for (let start = since.getTime(); start < until.getTime(); start += lengthMs) {
    const end = Math.min(start + lengthMs, until.getTime());
    yield { account, since: new Date(start), until: new Date(end) };
  }
}

/** Runs a proof's query about entries since some time, with a proof's timeout. Throws Postgres errors. */
export function queryProof<Row extends pg.QueryResultRow>(
  pool: pg.Pool,
  { text }: { readonly text: string },
  values: unknown[],
  access: 'READ ONLY' | 'READ WRITE' = 'READ ONLY',
): Promise<Row[]> {
  // unnamed, because the best plan depends on how many accounts there are
  return inSnapshot(pool, access, async (client) => {
    // the times come from rows, so Postgres assumes that a third of all history is new and would scan all of it
    await client.query('SET LOCAL enable_seqscan = off');
    const query = { text, values, query_timeout: PROOF_TIMEOUT_MS };
    const { rows } = await client.query<Row>(query);
    return rows;
  });
}

import type { BucketRange } from '../http/input/time-range.ts';

/** Buckets of the first window, at least. */
const FIRST_WINDOW_BUCKETS = 8;
/** Rows that a bucket of the first window is hoped to hold at most. */
const FIRST_ROWS_PER_BUCKET = 32;
/**
 * A window is at most so many times as long as the one before it, which bounds what a wrong guess costs. The least length grows by the same
 * factor, from one bucket on, so that guesses from a crowded beginning are wrong only a few times.
 */
const GROWTH = 16;
/** Buckets are not equally full; a little too long a window is cheaper than one more. */
const MARGIN = 1.2;

export interface ScanWindow {
  readonly start: Date;
  readonly end: Date;
}

/**
 * Reads the first `limit` rows of a range in time order, in windows as long as the rows found so far let expect: a page costs
 * what its rows cost, not what the range holds. `read` gets a window (aligned to buckets except at the range's ends) and how
 * many rows are missing.
 */
export async function scanForward<Row>(
  range: BucketRange,
  from: Date,
  limit: number,
  read: (window: ScanWindow, limit: number) => Promise<Row[]>,
): Promise<Row[]> {
  const rows: Row[] = [];
  let buckets = Math.max(FIRST_WINDOW_BUCKETS, Math.floor(limit / FIRST_ROWS_PER_BUCKET));
  let seen = 0;
  let atLeast = 1;
  let start = new Date(Math.max(from.getTime(), range.start.getTime()));
  while (start < range.end && rows.length < limit) {
    const aligned = Math.floor(start.getTime() / range.bucketMs) + buckets;
    const end = new Date(Math.min(aligned * range.bucketMs, range.end.getTime()));
    rows.push(...(await read({ start, end }, limit - rows.length)));
    start = end;
    seen += buckets;
    const expected = (limit - rows.length) / (rows.length / seen);
    buckets = Math.ceil(Math.min(Math.max(expected * MARGIN, atLeast), GROWTH * buckets));
    atLeast *= GROWTH;
  }
  return rows;
}

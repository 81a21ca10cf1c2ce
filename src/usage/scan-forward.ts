import type { BucketRange } from '../http/input/time-range.ts';

/** Minimum buckets of the first window. */
const FIRST_WINDOW_BUCKETS = 8;
/** Assumed rows per bucket when sizing the first window. */
const FIRST_ROWS_PER_BUCKET = 32;
/**
 * Maximum growth from one window to the next, which bounds the cost of a wrong guess. The minimum length grows by the same factor,
 * starting at one bucket, so that guesses based on a crowded beginning are wrong only a few times.
 */
const GROWTH = 16;
/** Buckets are not equally full, and a window that is a little too long is cheaper than one more window. */
const MARGIN = 1.2;

export interface ScanWindow {
  readonly start: Date;
  readonly end: Date;
}

/**
 * Reads the first `limit` rows of a range in time order. The rows found so far determine the length of the next window, so a page costs
 * what its rows cost, not what the range holds. `read` gets a window (aligned to buckets except at the ends of the range) and the number
 * of missing rows.
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

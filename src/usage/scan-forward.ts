import type { BucketRange } from '../http/time-range.ts';

/** Buckets of the first window; each further one is twice as long. */
const FIRST_WINDOW_BUCKETS = 8;

export interface ScanWindow {
  readonly start: Date;
  readonly end: Date;
}

/**
 * Reads the first `limit` rows of a range in time order, in windows that double: a page costs what its rows cost, not
 * what the range holds. `read` gets a window (aligned to buckets except at the range's ends) and how many rows are missing.
 */
export async function scanForward<Row>(
  range: BucketRange,
  from: Date,
  limit: number,
  read: (window: ScanWindow, limit: number) => Promise<Row[]>,
): Promise<Row[]> {
  const rows: Row[] = [];
  let buckets = FIRST_WINDOW_BUCKETS;
  let start = new Date(Math.max(from.getTime(), range.start.getTime()));
  while (start < range.end && rows.length < limit) {
    const aligned = Math.floor(start.getTime() / range.bucketMs) + buckets;
    const end = new Date(Math.min(aligned * range.bucketMs, range.end.getTime()));
    rows.push(...(await read({ start, end }, limit - rows.length)));
    start = end;
    buckets *= 2;
  }
  return rows;
}

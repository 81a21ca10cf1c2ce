import type { ScanWindow } from './scan-forward.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * Splits a window, whose ends are multiples of five minutes, into the parts it is read from: roll-ups, hours, days, hours, roll-ups.
 * Returns their six boundaries. Hours and days are used where they are filled and fit into a bucket of the report; an unused part has
 * equal boundaries.
 */
export function reportPieces(window: ScanWindow, bucketMs: number, filledUntil: Date): Date[] {
  const start = window.start.getTime();
  const end = window.end.getTime();
  const filledEnd = Math.min(end, filledUntil.getTime());
  const hours = whole(start, filledEnd, bucketMs < HOUR_MS ? undefined : HOUR_MS) ?? [end, end];
  const days = whole(hours[0], hours[1], bucketMs < DAY_MS ? undefined : DAY_MS) ?? [hours[1], hours[1]];
  return [start, hours[0], ...days, hours[1], end].map((time) => new Date(time));
}

/**
 * Splits such a window into roll-ups, totals of hours and roll-ups. Returns their four boundaries. Totals are used where they are filled
 * and fit into a bucket of the report.
 */
export function totalPieces(window: ScanWindow, bucketMs: number, filledUntil: Date): Date[] {
  const pieces = reportPieces(window, Math.min(bucketMs, HOUR_MS), filledUntil);
  return [...pieces.slice(0, 2), ...pieces.slice(4)];
}

/** Returns the start of the first and the end of the last period of this length that lie entirely in a range. */
function whole(start: number, end: number, length: number | undefined): [number, number] | undefined {
  if (length === undefined) {
    return undefined;
  }
  const [first, last] = [floor(start + length - 1, length), floor(end, length)];
  return first < last ? [first, last] : undefined;
}

function floor(time: number, length: number): number {
  return Math.floor(time / length) * length;
}

import type { ScanWindow } from './scan-forward.ts';

const ROLLUP_MS = 5 * 60_000;
const DAY_MS = 86_400_000;

/**
 * Cuts a window into roll-ups, whole days and roll-ups again: [start, first whole day, end of the last one, end]. Whole
 * days end where they are filled until; without any, the middle two are the end.
 */
export function reportPieces(window: ScanWindow, filledUntil: Date): Date[] {
  // a roll-up that began before the range's start cannot be divided; it counts in
  const start = Math.floor(window.start.getTime() / ROLLUP_MS) * ROLLUP_MS;
  const end = window.end.getTime();
  const firstDay = Math.ceil(start / DAY_MS) * DAY_MS;
  const lastDay = Math.floor(Math.min(end, filledUntil.getTime()) / DAY_MS) * DAY_MS;
  const days = firstDay < lastDay ? [firstDay, lastDay] : [end, end];
  return [start, ...days, end].map((time) => new Date(time));
}

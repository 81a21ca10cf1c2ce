import type { BucketRange } from '../http/input/time-range.ts';
import { type ScanWindow, scanForward } from './scan-forward.ts';

const HOUR_MS = 3_600_000;
const range: BucketRange = {
  start: new Date(0),
  end: new Date(744 * HOUR_MS),
  granularity: 'hour',
  bucketMs: HOUR_MS,
};

/** Scans a history of `perBucket` rows per hour. Returns the rows and the hours of each window. */
async function scan(perBucket: (hour: number) => number, limit: number, from = range.start) {
  const windows: number[] = [];
  const rows = await scanForward(range, from, limit, async ({ start, end }: ScanWindow, missing) => {
    const [first, last] = [start.getTime() / HOUR_MS, end.getTime() / HOUR_MS];
    windows.push(last - first);
    const found: number[] = [];
    for (let hour = first; hour < last; hour += 1) {
      found.push(...Array.from({ length: perBucket(hour) }, () => hour));
    }
    return found.slice(0, missing);
  });
  return { rows, windows };
}

test('a full page of an even history takes two windows and reads little more than it returns', async () => {
  const { rows, windows } = await scan(() => 2, 1_000);
  expect(rows).toHaveLength(1_000);
  expect(windows).toHaveLength(2);
  expect(windows.reduce((sum, hours) => sum + hours, 0)).toBeLessThan(600);
});

test('a small page of a dense history takes one window', async () => {
  expect((await scan(() => 20, 100)).windows).toEqual([8]);
});

test('a page that the first window almost fills reads one more hour, not a window of the same length', async () => {
  expect((await scan(() => 12, 101)).windows).toEqual([8, 1]);
});

test('a history that stops just before the page is full is read to its end in few windows', async () => {
  const { rows, windows } = await scan((hour) => (hour < 25 ? 40 : 0), 1_001);
  expect(rows).toHaveLength(1_000);
  expect(windows).toEqual([31, 1, 16, 256, 440]);
});

test.each<[string, (hour: number) => number, number]>([
  ['an empty history', () => 0, 0],
  ['rows at the very end', (hour) => (hour === 743 ? 3 : 0), 3],
  ['rows at the very start', (hour) => (hour === 0 ? 3 : 0), 3],
  ['a sparse history', (hour) => (hour % 100 === 0 ? 1 : 0), 8],
])('%s is read to the end in few windows, and each row once', async (_, perBucket, count) => {
  const { rows, windows } = await scan(perBucket, 1_000);
  expect(rows).toHaveLength(count);
  expect(windows.reduce((sum, hours) => sum + hours, 0)).toBe(744);
  expect(windows.length).toBeLessThanOrEqual(4);
});

test('a page can start inside the range', async () => {
  const { rows } = await scan(() => 1, 5, new Date(700 * HOUR_MS));
  expect(rows).toEqual([700, 701, 702, 703, 704]);
});

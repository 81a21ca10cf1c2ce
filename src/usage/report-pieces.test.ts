import fc from 'fast-check';
import { reportPieces, totalPieces } from './report-pieces.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const time = fc.integer({ min: 0, max: 10 * 288 }).map((steps) => steps * 5 * MINUTE_MS);

test('the parts are in order, cover the window, and use hours and days only where they are complete and filled', () => {
  fc.assert(
    fc.property(
      time,
      time,
      fc.nat({ max: 10 * 24 }),
      fc.constantFrom(5 * MINUTE_MS, HOUR_MS, DAY_MS),
      (one, other, filledHours, bucketMs) => {
        const window = { start: new Date(Math.min(one, other)), end: new Date(Math.max(one, other)) };
        const filledUntil = filledHours * HOUR_MS;
        const ends = reportPieces(window, bucketMs, new Date(filledUntil)).map(Number);
        expect(ends).toEqual([...ends].sort((a, b) => a - b));
        const [start = 0, firstHour = 0, firstDay = 0, lastDay = 0, lastHour = 0, end = 0] = ends;
        expect(start).toBe(window.start.getTime());
        expect(end).toBe(window.end.getTime());
        if (firstHour < lastHour) {
          expect([firstHour % HOUR_MS, lastHour % HOUR_MS]).toEqual([0, 0]);
          expect(lastHour).toBeLessThanOrEqual(filledUntil);
          expect(bucketMs).toBeGreaterThanOrEqual(HOUR_MS);
        }
        if (firstDay < lastDay) {
          expect([firstDay % DAY_MS, lastDay % DAY_MS, bucketMs]).toEqual([0, 0, DAY_MS]);
        }
      },
    ),
  );
});

test('days are used where the window contains any', () => {
  const window = { start: new Date(DAY_MS / 2), end: new Date(9.5 * DAY_MS) };
  const ends = reportPieces(window, DAY_MS, new Date(8 * DAY_MS)).map((end) => end.getTime() / HOUR_MS);
  expect(ends).toEqual([12, 12, 24, 192, 192, 228]);
});

test('totals of hours are used for hours and days, up to where they are filled', () => {
  const window = { start: new Date(HOUR_MS / 2), end: new Date(9.5 * DAY_MS) };
  const endsOf = (bucketMs: number) =>
    totalPieces(window, bucketMs, new Date(8 * DAY_MS)).map((end) => end.getTime() / HOUR_MS);
  expect(endsOf(HOUR_MS)).toEqual([0.5, 1, 192, 228]);
  expect(endsOf(DAY_MS)).toEqual([0.5, 1, 192, 228]);
  expect(endsOf(5 * MINUTE_MS)).toEqual([0.5, 228, 228, 228]);
});

import fc from 'fast-check';
import {
  bucketNames,
  bucketsOf,
  endOfBucket,
  formatDuration,
  inCostBuckets,
  isRange,
  overUntil,
  parseRange,
  rangeBetween,
  rangeName,
  relativeTime,
} from './time.ts';

const NOW = Date.parse('2026-11-21T09:33:04Z');
const STEP_MS = 300_000;
const HOUR_MS = 3_600_000;

test.each([
  ['1h', '5m', 12, '2026-11-21T08:35:00.000Z'],
  ['6h', '5m', 72, '2026-11-21T03:35:00.000Z'],
  ['24h', 'hour', 24, '2026-11-20T10:00:00.000Z'],
  ['7d', 'day', 7, '2026-11-15T00:00:00.000Z'],
  ['2026-11-19,2026-11-19', 'hour', 24, '2026-11-19T00:00:00.000Z'],
  ['2026-11-16,2026-11-18', 'hour', 72, '2026-11-16T00:00:00.000Z'],
  ['2026-11-15,2026-11-18', 'day', 4, '2026-11-15T00:00:00.000Z'],
  ['2026-11-20T10:05Z,2026-11-20T16:05Z', '5m', 72, '2026-11-20T10:05:00.000Z'],
  ['2026-11-20T10:05Z,2026-11-20T16:10Z', 'hour', 7, '2026-11-20T10:05:00.000Z'],
  ['2026-11-20T10:03Z,2026-11-20T10:04Z', '5m', 1, '2026-11-20T10:00:00.000Z'],
  // invalid ranges fall back to the last 24 hours
  ['2026-11-20T16:10Z,2026-11-20T10:05Z', 'hour', 24, '2026-11-20T10:00:00.000Z'],
  ['2026-13-45,2026-13-46', 'hour', 24, '2026-11-20T10:00:00.000Z'],
])('%s: in buckets of %s, %d of them, from %s', (text, granularity, count, start) => {
  const range = parseRange(text, NOW);
  expect([range.granularity, bucketsOf(range, NOW).length, range.start]).toEqual([granularity, count, start]);
});

test('costs of a short range are hourly, and its first hour is cut off', () => {
  const range = inCostBuckets(parseRange('1h', NOW));
  const starts = bucketsOf(range, NOW);
  expect(range.granularity).toBe('hour');
  expect(bucketNames(range, starts, 'en')).toEqual(['08:35', '09:00']);
  expect(starts.map((start) => new Date(endOfBucket(range, start)).toISOString().slice(11, 16))).toEqual([
    '09:00',
    '10:00',
  ]);
});

test('hours of a range longer than a day include the date, so that no two have the same name', () => {
  for (const text of ['6h', '24h', '2026-11-16,2026-11-18', '2026-11-19T10:05Z,2026-11-21T10:05Z']) {
    const range = parseRange(text, NOW);
    const names = bucketNames(range, bucketsOf(range, NOW), 'en');
    expect(new Set(names).size).toBe(names.length);
  }
});

test('a selection within a range is parsed back exactly, to the bucket', () => {
  const step = fc.nat({ max: 400 * 288 });
  fc.assert(
    fc.property(step, step, (one, other) => {
      const from = NOW - (NOW % STEP_MS) - Math.max(one, other) * STEP_MS;
      const until = NOW - (NOW % STEP_MS) - Math.min(one, other) * STEP_MS + STEP_MS;
      const { start, end } = parseRange(rangeBetween(from, until), NOW);
      expect([start, end]).toEqual([new Date(from).toISOString(), new Date(until).toISOString()]);
    }),
  );
});

test('buckets follow each other from the start of a range to its end', () => {
  const texts = fc.constantFrom(
    '2026-11-20T10:05Z,2026-11-21T08:35Z',
    '2026-11-01,2026-11-20',
    '2026-11-20T10:05Z,2026-11-20T11:00Z',
  );
  fc.assert(
    fc.property(texts, (text) => {
      for (const range of [parseRange(text, NOW), inCostBuckets(parseRange(text, NOW))]) {
        const starts = bucketsOf(range, NOW);
        expect(starts[0]).toBe(Date.parse(range.start));
        expect(starts.map((start) => endOfBucket(range, start))).toEqual([
          ...starts.slice(1),
          Date.parse(range.end ?? ''),
        ]);
      }
    }),
    { numRuns: 6 },
  );
});

test('the completed part ends with the range, or with the last five minutes that ended at least a minute ago', () => {
  expect(new Date(overUntil(parseRange('24h', NOW), NOW)).toISOString()).toBe('2026-11-21T09:30:00.000Z');
  expect(overUntil(parseRange('24h', NOW), NOW - 2.5 * 60_000)).toBe(NOW - (NOW % HOUR_MS) + 25 * 60_000);
  const past = parseRange('2026-11-19,2026-11-19', NOW);
  expect(new Date(overUntil(past, NOW)).toISOString()).toBe('2026-11-20T00:00:00.000Z');
});

test('a text that is no range is none', () => {
  for (const text of ['24h', '1h', '365d', '2026-11-01,2026-11-15', '2026-11-20T10:03Z,2026-11-20T10:04Z']) {
    expect([text, isRange(text)]).toEqual([text, true]);
  }
  for (const text of ['', 'garbage', 'toString', '2026-11-15,2026-11-01', '2026-13-45,2026-13-46']) {
    expect([text, isRange(text)]).toEqual([text, false]);
  }
});

test('a range of another year names the year', () => {
  const nameOf = (range: string) => rangeName(range, 'en', NOW).replaceAll('\u2009', ' ');
  expect(nameOf('2026-11-01,2026-11-15')).toBe('Nov 1 – 15 UTC');
  expect(nameOf('2025-11-01,2025-11-15')).toBe('Nov 1 – 15, 2025 UTC');
  expect(nameOf('2025-12-20,2026-01-05')).toBe('Dec 20, 2025 – Jan 5, 2026 UTC');
  expect(nameOf('2025-11-01T10:00Z,2025-11-01T11:00Z')).toBe('Nov 1, 2025, 10:00 – 11:00 UTC');
});

test.each([
  [999.6, '1.00 s'],
  [9_999, '10.0 s'],
  [59_960, '1 min 0 s'],
  [119_600, '2 min 0 s'],
  [3_599_600, '1 h 0 min'],
  [12_000_000, '3 h 20 min'],
  [86_399_000, '1 d 0 h'],
  [4_320 * 60_000, '3 d 0 h'],
])('%d ms are %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});

test.each([
  [59_600, '1 min. ago'],
  [59.6 * 60_000, '1 hr. ago'],
  [23.4 * HOUR_MS, '23 hr. ago'],
  [23.6 * HOUR_MS, undefined],
])('%d ms before now is %s', (ms, text) => {
  expect(relativeTime(new Date(NOW - ms).toISOString(), NOW, 'en')).toBe(text);
});

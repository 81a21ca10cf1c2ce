import { retryAfterMs } from './retry-after.ts';

test.each<[string | undefined, number | undefined]>([
  [undefined, undefined],
  ['', undefined],
  [' ', undefined],
  ['3', 3_000],
  ['0.5', 500],
  ['-4', 0],
  ['999999999', 3_600_000],
  ['Thu, 01 Jan 1970 00:00:10 GMT', 9_000],
  ['soon', undefined],
])('Retry-After %j means %j ms', (value, ms) => {
  expect(retryAfterMs((name) => (name === 'retry-after' ? value : undefined), 1_000)).toBe(ms);
});

test.each<[string, number]>([
  ['250', 250],
  ['999999999', 3_600_000],
  ['soon', 2_000],
  ['0', 2_000],
])('retry-after-ms %j takes precedence if it is valid', (value, ms) => {
  const headers: Record<string, string> = { 'retry-after': '2', 'retry-after-ms': value };
  expect(retryAfterMs((name) => headers[name], 1_000)).toBe(ms);
});

import { expect, test } from '@jest/globals';
import { nextTryMs } from './retry-schedule.ts';

test('seven tries: immediately, then after 5 s, 30 s, 2 min, 10 min, 1 h, 6 h, each up to a fifth later', () => {
  const earliest = [1, 2, 3, 4, 5, 6, 7].map((failed) => nextTryMs(failed, () => 0));
  const latest = [1, 2, 3, 4, 5, 6, 7].map((failed) => nextTryMs(failed, () => 1));
  expect(earliest).toEqual([5_000, 30_000, 120_000, 600_000, 3_600_000, 21_600_000, undefined]);
  expect(latest).toEqual([6_000, 36_000, 144_000, 720_000, 4_320_000, 25_920_000, undefined]);
});

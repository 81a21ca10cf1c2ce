import { expect, test } from '@jest/globals';
import { backoffMs } from './retry-policy.ts';

test('waits double from half a second to a minute, half of them random', () => {
  expect([0, 1, 2, 3, 20].map((failures) => backoffMs(failures, undefined, () => 0))).toEqual([
    500, 1_000, 2_000, 4_000, 30_000,
  ]);
  expect([0, 1, 2, 3, 20].map((failures) => backoffMs(failures, undefined, () => 1))).toEqual([
    1_000, 2_000, 4_000, 8_000, 60_000,
  ]);
});

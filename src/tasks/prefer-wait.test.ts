import { expect, test } from '@jest/globals';
import { preferredWaitMs } from './prefer-wait.ts';

test.each([
  [undefined, 0],
  ['', 0],
  ['wait=5', 5_000],
  ['respond-async, wait=10', 10_000],
  ['Wait="7"', 7_000],
  ['wait = 3 ; x', 3_000],
  ['wait=31', 30_000],
  ['wait=999999', 30_000],
  ['wait=-5', 0],
  ['wait=1.5', 0],
  ['await=5', 0],
  ['wait=5x', 0],
])('Prefer: %s waits %i ms', (header, milliseconds) => {
  expect(preferredWaitMs(header)).toBe(milliseconds);
});

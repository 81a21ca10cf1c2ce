import { coresWithin } from './processor-cores.ts';

test.each([
  [8, 'max 100000\n', 8],
  [8, 'max', 8],
  [8, '200000 100000\n', 2],
  [8, '250000 100000', 2],
  [8, '50000 100000', 1],
  [2, '1600000 100000', 2],
  [4, '', 4],
])('of %d cores the limit "%s" leaves %d', (cores, limit, usable) => {
  expect(coresWithin(cores, limit)).toBe(usable);
});

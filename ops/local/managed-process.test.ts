import { restartDelayMs } from './managed-process.ts';

test('pauses grow from half a second to half a minute', () => {
  expect([1, 2, 3, 4, 7, 20].map(restartDelayMs)).toEqual([500, 1_000, 2_000, 4_000, 30_000, 30_000]);
});

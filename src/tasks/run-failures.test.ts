import { expect, test } from '@jest/globals';
import { PutOffTracker } from './run-failures.ts';

test('a pool rests when tasks of three accounts are put off at the same time, however often one of them is', () => {
  let now = 0;
  const patience = new PutOffTracker(() => now);
  const putOffs = [
    ...Array.from({ length: 20 }, () => patience.putOff('gpu', 'a', 20_000)),
    patience.putOff('gpu', 'b', 20_000),
    patience.putOff('other', 'c', 20_000),
  ];
  expect(putOffs).toEqual(Array(22).fill(undefined));
  expect(patience.putOff('gpu', 'c', 5_000)).toBe(5_000);
  now = 20_000;
  expect(patience.putOff('gpu', 'a', 5_000)).toBeUndefined();
});

import fc from 'fast-check';
import { FairQueue } from './fair-queue.ts';

function served<T>(queue: FairQueue<T>, count = queue.size): T[] {
  return Array.from({ length: count }, () => queue.shift() as T);
}

test('accounts take turns regardless of how much each has queued', () => {
  const queue = new FairQueue<string>();
  for (let call = 0; call < 100; call += 1) {
    queue.push('a', 1, 1, 'a');
  }
  queue.push('b', 1, 1, 'b1');
  queue.push('b', 1, 1, 'b2');
  expect(served(queue, 5)).toEqual(['a', 'b1', 'a', 'b2', 'a']);
});

test('costlier work takes more turns, and a lower weight means a longer wait', () => {
  const queue = new FairQueue<string>();
  for (let call = 0; call < 40; call += 1) {
    queue.push('heavy', 1, 4, 'heavy');
    queue.push('light', 1, 1, 'light');
    queue.push('stranger', 0.1, 1, 'stranger');
  }
  const first = served(queue, 22);
  const count = (name: string) => first.filter((value) => value === name).length;
  expect([count('light'), count('heavy'), count('stranger')]).toEqual([17, 4, 1]);
});

test('an account whose queue empties keeps no credit', () => {
  const queue = new FairQueue<string>();
  queue.push('a', 1, 1, 'a');
  expect([queue.shift(), queue.shift(), queue.size]).toEqual(['a', undefined, 0]);
});

test('takeWhile removes the matching head of each queue, and the rest is still served in turns', () => {
  const queue = new FairQueue<string>();
  for (const [account, value] of [
    ['a', 'old 1'],
    ['b', 'old 2'],
    ['a', 'new 3'],
    ['a', 'old 4'],
    ['c', 'new 5'],
  ] as const) {
    queue.push(account, 1, 1, value);
  }
  expect(queue.takeWhile((value) => value.startsWith('old'))).toEqual(['old 1', 'old 2']);
  expect([queue.size, queue.costBefore('a', 1, 1)]).toEqual([3, 3]);
  expect(served(queue)).toEqual(['new 3', 'new 5', 'old 4']);
  expect(queue.size).toBe(0);
});

test('serves an account in order, loses nothing, and costBefore bounds what is served before', () => {
  const call = fc.record({
    account: fc.constantFrom('a', 'b', 'c'),
    cost: fc.constantFrom(1, 2, 7),
  });
  fc.assert(
    fc.property(fc.array(call, { maxLength: 60 }), (calls) => {
      const queue = new FairQueue<{ account: string; cost: number; at: number }>();
      for (const [at, { account, cost }] of calls.entries()) {
        queue.push(account, 1, cost, { account, cost, at });
      }
      const told = queue.costBefore('d', 1, 1);
      queue.push('d', 1, 1, { account: 'd', cost: 1, at: calls.length });
      const order = served(queue);
      const before = order.slice(
        0,
        order.findIndex(({ account }) => account === 'd'),
      );
      expect(before.reduce((sum, { cost }) => sum + cost, 0)).toBeLessThanOrEqual(told);
      for (const account of ['a', 'b', 'c', 'd']) {
        const own = order.filter((one) => one.account === account).map(({ at }) => at);
        expect(own).toEqual([...own].sort((left, right) => left - right));
      }
      expect(order).toHaveLength(calls.length + 1);
    }),
  );
});

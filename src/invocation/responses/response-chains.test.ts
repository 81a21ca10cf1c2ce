import fc from 'fast-check';
import { ResponseChains } from './response-chains.ts';

const LENGTH_MAX = 100;

/** Items of a total length. */
const itemsOf = (length: number) => ['x'.repeat(Math.floor(length / 2)), 'y'.repeat(Math.ceil(length / 2))];

test('finds the last response of a connection, and no other', () => {
  const chains = new ResponseChains(LENGTH_MAX);
  const [one, other] = [{}, {}];
  chains.keep(one, 'a', { id: 'first', items: itemsOf(10) });
  chains.keep(one, 'a', { id: 'second', items: itemsOf(10) });
  expect(chains.find(one, 'second')?.id).toBe('second');
  expect(chains.find(one, 'first')).toBeUndefined();
  expect(chains.find(other, 'second')).toBeUndefined();
  chains.drop(one);
  expect(chains.find(one, 'second')).toBeUndefined();
});

test('an account with much to keep takes the room of no other', () => {
  const chains = new ResponseChains(LENGTH_MAX);
  const small = {};
  chains.keep(small, 'small', { id: 'kept', items: itemsOf(20) });
  for (let number = 0; number < 50; number += 1) {
    chains.keep({}, 'large', { id: 'x', items: itemsOf(30) });
  }
  expect(chains.find(small, 'kept')).toBeDefined();
});

test('never keeps more than its limit, and drops nothing while there is room', () => {
  const step = fc.record({
    connection: fc.integer({ min: 0, max: 5 }),
    account: fc.constantFrom('a', 'b'),
    length: fc.integer({ min: 0, max: 120 }),
    drops: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const chains = new ResponseChains(LENGTH_MAX);
      const connections = Array.from({ length: 6 }, () => ({}));
      const given = new Map<object, number>();
      for (const { connection, account, length, drops } of steps) {
        const of = connections[connection]!;
        if (drops) {
          chains.drop(of);
          given.delete(of);
        } else {
          chains.keep(of, account, { id: 'x', items: itemsOf(length) });
          given.set(of, length);
        }
        const sum = [...given.values()].reduce((total, one) => total + one, 0);
        const kept = [...given].filter(([one]) => chains.find(one, 'x'));
        expect(kept.reduce((total, [, one]) => total + one, 0)).toBeLessThanOrEqual(LENGTH_MAX);
        if (sum <= LENGTH_MAX) {
          expect(kept).toHaveLength(given.size);
        }
        for (const [one] of given) {
          if (!chains.find(one, 'x')) {
            given.delete(one);
          }
        }
      }
    }),
  );
});

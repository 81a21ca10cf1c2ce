import fc from 'fast-check';
import { LiveSet } from './live-set.ts';

test('holds what was added and not removed, however often each is removed', () => {
  const step = fc.record({ add: fc.boolean(), at: fc.nat() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const roster = new LiveSet<number>();
      const model = new Set<number>();
      const removals: (() => void)[] = [];
      for (const { add, at } of steps) {
        const number = removals.length;
        if (add) {
          removals.push(roster.add(number));
          model.add(number);
        } else if (number > 0) {
          removals[at % number]?.();
          model.delete(at % number);
        }
        expect(roster.size).toBe(model.size);
        expect(new Set(roster.values())).toEqual(model);
      }
    }),
  );
});

test('the same value can be added twice', () => {
  const roster = new LiveSet<string>();
  const leave = roster.add('call');
  roster.add('call');
  leave();
  leave();
  expect(roster.values()).toEqual(['call']);
});

test('removing a value while iterating over values() does not affect the iteration', () => {
  const roster = new LiveSet<() => void>();
  let visited = 0;
  const leaves = [0, 1, 2].map(() => roster.add(() => (visited += 1)));
  for (const visit of roster.values()) {
    visit();
    leaves.pop()?.();
  }
  expect([visited, roster.size]).toEqual([3, 0]);
});

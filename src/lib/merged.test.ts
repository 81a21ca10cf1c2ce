import { expect, test } from '@jest/globals';
import { haveSameClass } from '../../test/factories/v8-objects.ts';
import { merged } from './merged.ts';

test('what is merged later wins, in the order of the first', () => {
  expect(Object.entries(merged({ a: 1, b: 2 }, { a: 3, c: 4 }))).toEqual([
    ['a', 3],
    ['b', 2],
    ['c', 4],
  ]);
});

test('a member called __proto__ is copied like any other', () => {
  const sent = JSON.parse('{"__proto__":{"model":"free"}}') as { readonly model?: string };
  const copy = merged(sent, { stream: true });
  expect(copy.model).toBeUndefined();
  expect(JSON.stringify(copy)).toBe('{"__proto__":{"model":"free"},"stream":true}');
});

test('objects merged from equal shapes share their hidden class', () => {
  const base = { a: 1, b: 2 };
  // V8 chooses how to copy after it has seen some copies
  const objects = Array.from({ length: 1_000 }, (_, place) => merged(base, { c: place, d: place }));
  expect(haveSameClass(objects.at(-1)!, objects.at(-2)!)).toBe(true);
});

import fc from 'fast-check';
import { anyCharacter } from '../../test/factories/any-character.ts';
import { isShortJson, jsonInSteps, jsonTextInSteps } from './json-text.ts';
import { atOnce } from './steps.ts';

test('writes what JSON.stringify writes, whichever part is long', () => {
  const long = fc
    .tuple(
      fc.string({ unit: anyCharacter, minLength: 1, maxLength: 9 }),
      fc.integer({ min: 65_000, max: 140_000 }),
    )
    .map(([unit, length]) => unit.repeat(Math.ceil(length / unit.length)));
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      long,
      fc.jsonValue(),
      fc.constant(undefined),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(fc.string(), tie('value'), { maxKeys: 4 }),
    ),
  }));
  fc.assert(
    fc.property(fc.array(value, { maxLength: 4 }), (sent) => {
      expect(Buffer.concat(atOnce(jsonInSteps(sent))).toString()).toBe(JSON.stringify(sent));
      expect(atOnce(jsonTextInSteps(sent))).toBe(JSON.stringify(sent));
    }),
  );
});

test.each([
  ['a string of a megabyte', ['x'.repeat(2 ** 20)], 16],
  ['60,000 small values', Array(60_000).fill({ type: 'text', text: 'x' }), 10],
])('%s is written in many parts', (_, value, parts) => {
  expect(isShortJson(value)).toBe(false);
  expect(atOnce(jsonInSteps(value)).length).toBeGreaterThan(parts);
});

test('isShortJson recognizes short values', () => {
  expect(isShortJson({ model: 'm', messages: [{ role: 'user', content: 'x'.repeat(200_000) }] })).toBe(true);
  expect(isShortJson(Array(20_000).fill(0))).toBe(false);
});

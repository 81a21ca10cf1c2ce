import fc from 'fast-check';
import { anyCharacter } from '../../../test/factories/any-character.ts';
import { AppError } from '../../lib/errors.ts';
import { JsonStructure } from './json-structure.ts';

/** Returns the error for bytes that are added in pieces of `size` bytes. */
function refusal(text: string, size = 1 << 16): string | undefined {
  const bytes = Buffer.from(text);
  const structure = new JsonStructure();
  try {
    for (let at = 0; at < bytes.length; at += size) {
      structure.add(bytes.subarray(at, at + size));
    }
    return undefined;
  } catch (error) {
    return error instanceof AppError ? error.message : String(error);
  }
}

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
const list = (values: number): string => `[${Array(values).fill('0').join(',')}]`;
/** Returns this many values in lists of 1,000. Each list counts as a value itself. */
const lists = (values: number): string =>
  `[${Array(values / 1_000)
    .fill(list(1_000))
    .join(',')}]`;

test.each([
  ['200 levels', nested(200), undefined],
  ['201 levels', nested(201), 'the body is nested deeper than 200 levels'],
  ['200,000 values', lists(199_000), undefined],
  ['200,001 values', lists(201_000), 'the body holds more than 200000 values'],
  ['32,768 values in a list', list(32_768), undefined],
  ['32,769 values in a list', list(32_769), 'the body has a list or object of more than 32768 values'],
  ['brackets in a string', JSON.stringify('[{'.repeat(1_000)), undefined],
  ['brackets behind an escaped quote', '"\\"[[['.padEnd(400, '['), undefined],
  [
    'brackets behind an escaped backslash',
    `"\\\\"${nested(201)}`,
    'the body is nested deeper than 200 levels',
  ],
])('%s', (_, text, expected) => {
  for (const size of [1, 2, 3, 1 << 16]) {
    expect(refusal(text, size)).toBe(expected);
  }
});

test('strings do not count, however they are cut into pieces', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), fc.integer({ min: 1, max: 5 }), (text, size) => {
      const deep = `[${JSON.stringify(text)},${nested(199)}]`;
      expect(refusal(deep, size)).toBeUndefined();
      expect(refusal(`[${deep}]`, size)).toBe('the body is nested deeper than 200 levels');
    }),
  );
});

import fc from 'fast-check';
import { jsonParameter } from './statement.ts';

const hostile = fc
  .array(
    fc.constantFrom('\0', '\ud83d', '\ude00', '\\', 'u0000', '\\u0000', 'ud83d', '"', '\n', 'a', '😀', '鍵'),
  )
  .map((parts) => parts.join(''));

test('JSON for the database holds every text, with NUL and halves of characters replaced', () => {
  const property = fc.property(hostile, hostile, (said, name) => {
    const expected = (text: string) => Buffer.from(text.replaceAll('\0', '\ufffd')).toString();
    const json = jsonParameter([{ said, [`x${name}`]: said }]);
    expect(JSON.parse(json)[0].said).toBe(expected(said));
    expect(JSON.parse(json)[0][`x${expected(name)}`]).toBe(expected(said));
  });
  fc.assert(property, { numRuns: 2_000 });
});

test('JSON without such text is what JSON.stringify writes', () => {
  const value = { path: 'C:\\u0000', tab: '\t\u0001', text: '😀 "quoted"', none: null };
  expect(jsonParameter(value)).toBe(JSON.stringify(value));
});

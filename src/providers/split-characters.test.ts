import fc from 'fast-check';
import { anyCharacter } from '../../test/factories/any-character.ts';
import { SplitCharacters } from './split-characters.ts';

/** Reads events as they arrive: JSON writes half a character as an escape. */
function readAll(events: readonly unknown[]): unknown[] {
  const characters = new SplitCharacters();
  return events.map((event) => {
    const json = JSON.stringify(event);
    return characters.joined(json, JSON.parse(json));
  });
}

const text = fc.string({ unit: fc.oneof(anyCharacter, fc.constantFrom('😀', '👩‍👩‍👧', 'é')), maxLength: 40 });

test('text that was cut anywhere arrives whole, in pieces that are whole characters', () => {
  const cuts = fc.array(fc.nat(80), { maxLength: 20 });
  const property = fc.property(text, cuts, (whole, places) => {
    const bounds = [0, ...places.sort((a, b) => a - b), whole.length];
    const pieces = bounds.slice(1).map((end, index) => whole.slice(bounds[index], end));
    const events = readAll(pieces.map((content) => ({ choices: [{ delta: { content } }] }))) as {
      choices: [{ delta: { content: string } }];
    }[];
    const read = events.map(({ choices: [{ delta }] }) => delta.content);
    expect(read.join('')).toBe(whole);
    expect(read.filter((piece) => /\p{Surrogate}/u.test(piece))).toEqual([]);
  });
  fc.assert(property, { numRuns: 2_000 });
});

test('halves of different texts do not meet, and one that nothing continues is not passed on', () => {
  expect(readAll([{ a: 'x\ud83d' }, { b: '\ude00y' }, { a: 'z' }])).toEqual([
    { a: 'x' },
    { b: '�y' },
    { a: 'z' },
  ]);
  expect(readAll([['a\ude00b\ud83dc'], { n: 1, t: true, o: null }])).toEqual([
    ['a�b�c'],
    { n: 1, t: true, o: null },
  ]);
});

test('an escape that is itself escaped is text', () => {
  const args = '{"path":"\\ud83d"}';
  expect(readAll([{ args }])).toEqual([{ args }]);
});

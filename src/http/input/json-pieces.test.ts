import fc from 'fast-check';
import { anyCharacter } from '../../../test/factories/any-character.ts';
import { AppError } from '../../lib/errors.ts';
import { JsonPieces } from './json-pieces.ts';

const INVALID = 'invalid_json';

/** Returns the result for bytes that arrive `chunkBytes` at a time and are parsed `pieceBytes` at a time. */
function inPieces(bytes: Buffer, chunkBytes: number, pieceBytes: number): unknown {
  const pieces = new JsonPieces(pieceBytes);
  try {
    for (let at = 0; at < bytes.length; at += chunkBytes) {
      pieces.add(bytes.subarray(at, at + chunkBytes));
    }
    return pieces.end();
  } catch (error) {
    return error instanceof AppError ? error.code : error;
  }
}

function whole(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return INVALID;
  }
}

/** Strings with everything that can be cut in two. */
const text = fc.string({
  unit: fc.oneof(
    fc.constantFrom('"', '\\', '\n', '\ufeff', 'ä', '漢', '😀', '\ud83d', '[', ',', '{"a":', ' '),
    fc.string({ unit: anyCharacter, maxLength: 2 }),
  ),
  maxLength: 40,
});
const name = fc.oneof(text, fc.constantFrom('a', 'b', '0', '7')).filter((word) => word !== '__proto__');
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    text,
    fc.double({ noNaN: true }),
    fc.constantFrom(null, true, false),
    fc.array(tie('value'), { maxLength: 6 }),
    fc.array(fc.tuple(name, tie('value')), { maxLength: 6 }).map((members) => ({ members })),
  ),
}));

/** Writes JSON with duplicate names and whitespace. With `isEscaped`, all characters beyond ASCII are escaped. */
function written(value: unknown, isEscaped: boolean): string {
  if (Array.isArray(value)) {
    return `[ ${value.map((item) => written(item, isEscaped)).join(', ')}]`;
  }
  if (typeof value === 'object' && value !== null) {
    const { members } = value as { members: [string, unknown][] };
    const pairs = members.map(([key, member]) => `${JSON.stringify(key)}: ${written(member, isEscaped)}`);
    return `{${pairs.join(' ,')} }`;
  }
  const plain = JSON.stringify(value);
  return isEscaped
    ? plain.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    : plain;
}

const sizes = [fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 40 })] as const;

test('returns what JSON.parse returns, wherever the text is cut', () => {
  fc.assert(
    fc.property(value, fc.boolean(), ...sizes, (sent, isEscaped, chunkBytes, pieceBytes) => {
      const bytes = Buffer.from(written(sent, isEscaped));
      expect(inPieces(bytes, chunkBytes, pieceBytes)).toStrictEqual(whole(bytes));
    }),
    { numRuns: 1_000 },
  );
});

test('rejects what JSON.parse rejects: bytes left out, inserted or changed', () => {
  const wrong = fc.constantFrom(...Array.from(',:[]{}"\\ 0nx\u0080', (unit) => unit.charCodeAt(0)));
  fc.assert(
    fc.property(value, fc.nat(), fc.nat(2), wrong, ...sizes, (sent, place, removed, byte, ...cut) => {
      const bytes = Buffer.from(written(sent, false));
      const at = place % bytes.length;
      const broken = Buffer.concat([bytes.subarray(0, at), Buffer.of(byte), bytes.subarray(at + removed)]);
      expect(inPieces(broken, ...cut)).toStrictEqual(whole(broken));
    }),
    { numRuns: 2_000 },
  );
});

test.each([
  '',
  ' ',
  ',',
  ',1',
  '1,',
  '1,2',
  '[,1]',
  '[1,]',
  '{,"a":1}',
  '{"a":1,}',
  '{"a",1}',
  '[1}',
  '[1]]',
  '[1',
  '{"a":[1,2}]',
  '"a',
  '[1] [2]',
  ' ,5',
])('%s is not JSON', (broken) => {
  for (const pieceBytes of [1, 2, 3, 100]) {
    expect(inPieces(Buffer.from(broken), 1, pieceBytes)).toBe(INVALID);
  }
});

test.each([
  ['{"__proto__":{"a":1},"b":[{"__proto__":1}]}', { b: [{}] }],
  ['{"\\u005f_proto__":{"a":1},"b":"\\u00e4"}', { b: 'ä' }],
  ['{"b":"__proto__"}', { b: '__proto__' }],
])('%s sets no prototype', (sent, expected) => {
  const parsed = inPieces(Buffer.from(sent), 100, 100);
  expect(parsed).toEqual(expected);
  expect(Object.keys(parsed as object)).toEqual(Object.keys(expected));
});

test.each(['{"__proto__":[1,2,3,4]}', '{"\\u005f_proto__":{"a":"long text"}}'])(
  '%s sets no prototype when it is cut inside',
  (sent) => {
    for (const pieceBytes of [1, 4, 8]) {
      expect(inPieces(Buffer.from(sent), 1, pieceBytes)).toBe('invalid_request');
    }
    expect(Object.keys(Object.prototype)).toEqual([]);
  },
);

test('rejects megabytes of a name, a number or whitespace before their end has arrived', () => {
  for (const start of ['{"', '[1', '[ ']) {
    const endless = Buffer.from(start + (start === '[ ' ? ' ' : '1').repeat(2 ** 21));
    const pieces = new JsonPieces();
    expect(() => pieces.add(endless)).toThrow('a name, a number or whitespace of more than 1048576 bytes');
  }
});

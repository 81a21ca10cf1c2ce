import fc from 'fast-check';

/**
 * Any code point except surrogate halves, half of them ASCII, so that the syntax characters of languages are included. The inverse function
 * lets fast-check insert names like `__proto__`. `unit: 'binary'` has hardly any ASCII and first builds a table of all code points, which
 * takes 0.7 s per file.
 */
export const anyCharacter = fc
  .oneof(fc.integer({ min: 0, max: 0x7f }), fc.integer({ min: 0, max: 0x10_ffff }))
  .filter((point) => point < 0xd800 || point > 0xdfff)
  .map((point) => String.fromCodePoint(point), pointOf);

function pointOf(text: unknown): number {
  if (typeof text !== 'string' || text === '' || [...text].length > 1) {
    throw new Error('not a single character');
  }
  return text.codePointAt(0) ?? 0;
}

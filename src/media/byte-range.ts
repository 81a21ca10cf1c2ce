import type { ByteRange } from './storage.types.ts';

export type RangeAnswer =
  /** Send everything with 200: no range was requested, or one we may ignore. */
  | { readonly kind: 'whole' }
  /** Send these bytes with 206. */
  | { readonly kind: 'part'; readonly range: ByteRange }
  /** Answer 416. */
  | { readonly kind: 'unsatisfiable' };

const SINGLE_RANGE = /^bytes[ \t]*=[ \t]*(\d{0,15})-(\d{0,15})[ \t]*$/i;

/**
 * Parses a Range header for an object of `size` bytes (RFC 9110 §14). Unknown units, malformed values and lists of ranges are ignored, as
 * the standard allows. A range past the end is unsatisfiable.
 */
export function parseRange(header: string | undefined, size: number): RangeAnswer {
  const match = header === undefined ? null : SINGLE_RANGE.exec(header);
  const [, first = '', last = ''] = match ?? [];
  if (!match || (first === '' && last === '')) {
    return { kind: 'whole' };
  }
  if (first === '') {
    const suffix = Math.min(Number(last), size);
    return suffix === 0
      ? { kind: 'unsatisfiable' }
      : { kind: 'part', range: { start: size - suffix, end: size - 1 } };
  }
  const start = Number(first);
  const end = last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (last !== '' && Number(last) < start) {
    return { kind: 'whole' };
  }
  return start >= size ? { kind: 'unsatisfiable' } : { kind: 'part', range: { start, end } };
}

import { AppError } from '../../lib/errors.ts';

/** Encodes a position in a keyset-paged list as opaque text. */
export function encodeCursor(parts: readonly string[]): string {
  return Buffer.from(JSON.stringify(parts)).toString('base64url');
}

/** Decodes a cursor whose parts must match the patterns. Throws AppError invalid_cursor for anything that Tollgate did not create. */
export function decodeCursor(cursor: string, patterns: readonly RegExp[]): string[] {
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
  } catch {
    throw invalid();
  }
  if (!Array.isArray(parts) || parts.length !== patterns.length) {
    throw invalid();
  }
  return patterns.map((pattern, index) => {
    const part: unknown = parts[index];
    if (typeof part !== 'string' || !pattern.test(part)) {
      throw invalid();
    }
    return part;
  });
}

export const UUID_PART = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
export const INTEGER_PART = /^\d{1,18}$/;

function invalid(): AppError {
  return new AppError('invalid_cursor', 'cursor: must be one that this list returned');
}

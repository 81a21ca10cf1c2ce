/** Members whose texts are words of the protocol or names of tools; every other text is content. */
const STRUCTURAL = new Set([
  'id',
  'call_id',
  'object',
  'type',
  'role',
  'name',
  'model',
  'code',
  'status',
  'reason',
  'format',
  'finish_reason',
  'native_finish_reason',
  'stop_reason',
  'service_tier',
  'system_fingerprint',
]);

/** Counts that a provider writes as text: they are its bill. */
const COUNT = /^\d{1,15}$/;
const COUNT_MEMBER = /[a-z](?:_t|T)okens$/;

/** A JSON string, and the colon that makes it a member's name. */
const LITERAL = /"((?:[^"\\]|\\.)*)"(\s*:)?/gs;
/** Escapes, JSON's words (arguments are JSON within a text), letters, digits, and bytes beyond ASCII. */
const PIECES = /\\u[0-9a-fA-F]{4}|\\.|\b(?:true|false|null)\b|[A-Za-z]|[0-9]|[\x80-\xff]/g;

/**
 * The same bytes with the letters and digits of texts replaced, so that form, lengths and the cuts between pieces stay
 * as they came and content does not.
 */
export function redactAnswer(pieces: readonly Buffer[]): Buffer[] {
  // one character a byte, so that positions are those of the bytes
  const text = Buffer.concat(pieces).toString('latin1');
  let member = '';
  const redacted = text.replace(LITERAL, (literal, content: string, colon: string | undefined) => {
    if (colon !== undefined) {
      member = content;
      return literal;
    }
    const isCount = COUNT_MEMBER.test(member) && COUNT.test(content);
    return isCount || STRUCTURAL.has(member) ? literal : `"${content.replace(PIECES, redactPiece)}"`;
  });
  const bytes = Buffer.from(redacted, 'latin1');
  let start = 0;
  return pieces.map((piece) => {
    start += piece.length;
    return bytes.subarray(start - piece.length, start);
  });
}

function redactPiece(piece: string): string {
  if (piece.length === 1) {
    return /[0-9]/.test(piece) ? '1' : 'x';
  }
  return piece.startsWith('\\u') ? '\\u0078' : piece;
}

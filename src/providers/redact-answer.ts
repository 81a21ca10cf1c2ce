/** Members whose texts are protocol keywords or tool names. Every other text is content. */
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

/** Token counts that a provider writes as text. They are kept: the bill depends on them. */
const COUNT = /^\d{1,15}$/;
const COUNT_MEMBER = /[a-z](?:_t|T)okens$/;

/** A JSON string, and the colon after it if it is a member's name. */
const LITERAL = /"((?:[^"\\]|\\.)*)"(\s*:)?/gs;
/** Escapes, JSON's keywords (arguments are JSON inside a string), letters, digits, and non-ASCII bytes. */
const PIECES = /\\u[0-9a-fA-F]{4}|\\.|\b(?:true|false|null)\b|[A-Za-z]|[0-9]|[\x80-\xff]/g;

/**
 * Replaces letters and digits in texts. Structure, lengths and the boundaries between pieces stay as they came; the content
 * does not.
 */
export function redactAnswer(pieces: readonly Buffer[]): Buffer[] {
  // latin1 maps one byte to one character, so positions match the bytes
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

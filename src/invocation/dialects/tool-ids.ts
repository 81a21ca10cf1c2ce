import { createHash } from 'node:crypto';
import { type JsonObject, objectOf, textOf } from '../../providers/json.ts';

/** What a messages id may hold (Anthropic: `^[a-zA-Z0-9_-]+$`). */
const FOREIGN = /[^a-zA-Z0-9_-]/g;
/** Of a changed id this much of its hash is kept, in hex digits: two that differ in foreign letters only stay apart. */
const HASH_LENGTH = 8;
/**
 * Between an id and the thought signature that Gemini wants back with the call: messages clients send ids back as they
 * are, and nothing else.
 */
const SIGNATURE_MARK = '__thought__';

/** An id that Anthropic accepts, always the same for the same id: a call and its result keep fitting. */
export function cleanToolId(id: string): string {
  const [plain = ''] = id.split(SIGNATURE_MARK);
  const clean = plain.replace(FOREIGN, '_');
  if (clean === plain && clean !== '') {
    return clean;
  }
  return `${clean}_${createHash('sha256').update(plain).digest('hex').slice(0, HASH_LENGTH)}`;
}

/** The id of an exact chat call in a message, with what its provider needs back. */
export function messagesToolId(call: JsonObject): string {
  const id = textOf(call.id);
  const signature = textOf(objectOf(objectOf(call.extra_content).google).thought_signature);
  return signature === ''
    ? id
    : `${id}${SIGNATURE_MARK}${Buffer.from(signature, 'utf8').toString('base64url')}`;
}

/** The id of a chat call as its provider gave it, and what it wants back, from an id of {@link messagesToolId}. */
export function chatToolId(id: unknown): { readonly id: string; readonly extra?: JsonObject } {
  const [plain = '', encoded] = textOf(id).split(SIGNATURE_MARK);
  if (encoded === undefined) {
    return { id: plain };
  }
  const signature = Buffer.from(encoded, 'base64url').toString('utf8');
  return { id: plain, extra: { google: { thought_signature: signature } } };
}

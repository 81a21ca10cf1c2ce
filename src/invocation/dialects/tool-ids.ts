import { createHash } from 'node:crypto';
import { flatMapInSteps, mapInSteps, type Steps } from '../../lib/steps.ts';
import { type JsonObject, objectOf, objectsOf, textOf } from '../../providers/json.ts';

/** What a messages id may hold (Anthropic: `^[a-zA-Z0-9_-]+$`). */
const FOREIGN = /[^a-zA-Z0-9_-]/g;
/** Of a changed id this much of its hash is kept, in hex digits: two that differ in foreign letters only stay apart. */
const HASH_LENGTH = 8;
/** Whose limits an id of a chat call must keep: `any` stands for none. */
export type ToolIdForm = 'any' | 'openai' | 'mistral';

/** OpenAI's limit ("expected a string with maximum length 40"), in UTF-16 units. */
const OPENAI_LENGTH_MAX = 40;
/** Mistral's ("must be a-z, A-Z, 0-9, with a length of 9"). */
const MISTRAL_ID = /^[a-zA-Z0-9]{9}$/;
const MISTRAL_LENGTH = 9;

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
  return `${clean}_${hashOf(plain, HASH_LENGTH)}`;
}

/** The messages of a chat request with ids of tool calls in the form that the provider's model accepts, calls and results alike. */
export function* withToolIds(messages: unknown, form: ToolIdForm): Steps<readonly JsonObject[]> {
  return yield* flatMapInSteps(objectsOf(messages), function* (message): Steps<JsonObject[]> {
    const answered = textOf(message.tool_call_id);
    if (answered !== '') {
      return [{ ...message, tool_call_id: fittingToolId(answered, form) }];
    }
    if (!Array.isArray(message.tool_calls)) {
      return [message];
    }
    const calls = yield* mapInSteps(objectsOf(message.tool_calls), (call) => ({
      ...call,
      id: fittingToolId(textOf(call.id), form),
    }));
    return [{ ...message, tool_calls: calls }];
  });
}

function fittingToolId(id: string, form: ToolIdForm): string {
  if (form === 'openai' && id.length > OPENAI_LENGTH_MAX) {
    return `${id.slice(0, OPENAI_LENGTH_MAX - HASH_LENGTH - 1)}_${hashOf(id, HASH_LENGTH)}`;
  }
  return form === 'mistral' && !MISTRAL_ID.test(id) ? hashOf(id, MISTRAL_LENGTH) : id;
}

/** Always the same for the same id, so that a call and its result keep fitting; in hex digits. */
function hashOf(id: string, length: number): string {
  return createHash('sha256').update(id).digest('hex').slice(0, length);
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

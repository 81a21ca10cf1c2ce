import { createHash } from 'node:crypto';
import { merged } from '../../lib/merged.ts';
import { flatMapInSteps, mapInSteps, type Steps } from '../../lib/steps.ts';
import { type JsonObject, objectOf, objectsOf, textOf } from '../../providers/json.ts';

/** Characters not allowed in a messages id (Anthropic: `^[a-zA-Z0-9_-]+$`). */
const FOREIGN = /[^a-zA-Z0-9_-]/g;
/** Hex digits of the hash in a changed id, which keep ids apart that differ only in disallowed characters. */
const HASH_LENGTH = 8;
/** Whose limits the id of a chat call must meet: `any` means no limit. */
export type ToolIdForm = 'any' | 'openai' | 'mistral';

/** OpenAI's limit ("expected a string with maximum length 40"), in UTF-16 units. */
const OPENAI_LENGTH_MAX = 40;
/** Mistral's limit ("must be a-z, A-Z, 0-9, with a length of 9"). */
const MISTRAL_ID = /^[a-zA-Z0-9]{9}$/;
const MISTRAL_LENGTH = 9;

/**
 * Separates an id from the thought signature that Gemini requires back with the call. Clients of messages and Responses send ids back
 * unchanged, and nothing else.
 */
const SIGNATURE_MARK = '__thought__';

/** Returns an id that Anthropic accepts. Deterministic, so that a call and its result still match. */
export function cleanToolId(id: string): string {
  const [plain = ''] = id.split(SIGNATURE_MARK);
  const clean = plain.replace(FOREIGN, '_');
  if (clean === plain && clean !== '') {
    return clean;
  }
  return `${clean}_${hashOf(plain, HASH_LENGTH)}`;
}

/** Rewrites the tool call ids of a chat request, in calls and results alike, to the form that the provider's model accepts. */
export function* withToolIds(messages: unknown, form: ToolIdForm): Steps<readonly JsonObject[]> {
  return yield* flatMapInSteps(objectsOf(messages), function* (message): Steps<JsonObject[]> {
    const answered = textOf(message.tool_call_id);
    if (answered !== '') {
      return [merged(message, { tool_call_id: fittingToolId(answered, form) })];
    }
    if (!Array.isArray(message.tool_calls)) {
      return [message];
    }
    const calls = yield* mapInSteps(objectsOf(message.tool_calls), (call) => ({
      ...call,
      id: fittingToolId(textOf(call.id), form),
    }));
    return [merged(message, { tool_calls: calls })];
  });
}

function fittingToolId(id: string, form: ToolIdForm): string {
  if (form === 'openai' && id.length > OPENAI_LENGTH_MAX) {
    return `${id.slice(0, OPENAI_LENGTH_MAX - HASH_LENGTH - 1)}_${hashOf(id, HASH_LENGTH)}`;
  }
  return form === 'mistral' && !MISTRAL_ID.test(id) ? hashOf(id, MISTRAL_LENGTH) : id;
}

/** Returns hex digits of the id's hash. Deterministic, so that a call and its result still match. */
function hashOf(id: string, length: number): string {
  return createHash('sha256').update(id).digest('hex').slice(0, length);
}

/** Returns the id of an exact chat call for clients of other dialects, including the signature that its provider needs back. */
export function clientToolId(call: JsonObject): string {
  const id = textOf(call.id);
  const signature = textOf(objectOf(objectOf(call.extra_content).google).thought_signature);
  return signature === ''
    ? id
    : `${id}${SIGNATURE_MARK}${Buffer.from(signature, 'utf8').toString('base64url')}`;
}

/** Returns the provider's own id of a chat call, and the extra content it needs back, from an id of {@link clientToolId}. */
export function providerToolId(id: unknown): { readonly id: string; readonly extra?: JsonObject } {
  const [plain = '', encoded] = textOf(id).split(SIGNATURE_MARK);
  if (encoded === undefined) {
    return { id: plain };
  }
  const signature = Buffer.from(encoded, 'base64url').toString('utf8');
  return { id: plain, extra: { google: { thought_signature: signature } } };
}

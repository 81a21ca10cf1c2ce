import { isObject, type JsonObject, objectOf, objectsOf, parseProviderJson, textOf } from './json.ts';

/** A page for people, by a proxy or a wrong address. */
const MARKUP = /^\s*</;

/**
 * Returns the object that describes the error: the `error` member (OpenAI, Anthropic), the first of a list `errors` (Cloudflare), Gemini's
 * list of one, or the body itself. Text is its message.
 */
export function errorOf(body: unknown): JsonObject {
  const whole = Array.isArray(body) ? body[0] : body;
  if (typeof whole === 'string') {
    return MARKUP.test(whole) ? {} : { message: whole.trim() };
  }
  const { error, errors } = objectOf(whole);
  if (isObject(error)) {
    return error;
  }
  return Array.isArray(errors) && errors.length > 0 ? errorOf(errors) : objectOf(whole);
}

/** Names of an error's message: TGI and Ollama `error`, FastAPI `detail`, servers from China `msg`. */
const MESSAGE_NAMES = ['message', 'error', 'detail', 'msg'] as const;

/**
 * Returns the error message: that of the provider behind it where OpenRouter quotes one, since its own only says that there was an error.
 * One in the form of an object or a list, such as FastAPI's, is returned as JSON.
 */
export function messageOf(error: JsonObject): string {
  return wordsOf(quotedOf(error)) || wordsOf(error);
}

/** Returns the codes of an error in lower case, those of the provider behind it and Google's reasons included. */
export function codesOf(error: JsonObject): string {
  const reasons = objectsOf(error.details).map(({ reason }) => reason);
  const quoted = quotedOf(error);
  return [error.code, error.type, ...reasons, quoted.code, quoted.type].map(textOf).join(' ').toLowerCase();
}

/** A duration as Google's APIs write it. */
const SECONDS = /^(\d{1,5}(?:\.\d{1,9})?)s$/;

/** Returns the pause that an error itself asks for, in ms. Gemini does so in `RetryInfo` and sends no header. */
export function pauseOf(error: JsonObject): number | undefined {
  const seconds = objectsOf(error.details)
    .map(({ retryDelay }) => SECONDS.exec(textOf(retryDelay))?.[1])
    .find((found) => found !== undefined);
  return seconds === undefined ? undefined : Math.ceil(Number(seconds) * 1_000);
}

/** Returns the error of the provider behind OpenRouter, which quotes it as text or parsed. Empty if there is none. */
function quotedOf(error: JsonObject): JsonObject {
  const { raw } = objectOf(error.metadata);
  return errorOf(typeof raw === 'string' ? (parseProviderJson(raw) ?? raw) : raw);
}

function wordsOf(error: JsonObject): string {
  for (const name of MESSAGE_NAMES) {
    const value = error[name];
    if (typeof value === 'object' && value !== null) {
      return JSON.stringify(value);
    }
    if (textOf(value) !== '') {
      return textOf(value);
    }
  }
  return '';
}

import { isObject, type JsonObject, objectOf, parseJson, textOf } from './json.ts';
import { type FailureReason, ProviderFailure } from './provider-failure.ts';

const REASON_BY_STATUS: Readonly<Record<number, FailureReason>> = {
  400: 'rejected',
  401: 'misconfigured',
  402: 'misconfigured',
  403: 'misconfigured',
  404: 'misconfigured',
  405: 'misconfigured',
  408: 'overloaded',
  409: 'overloaded',
  // Fireworks: the account is suspended or over its spending limit
  412: 'misconfigured',
  413: 'too_large',
  422: 'rejected',
  429: 'rate_limited',
  503: 'overloaded',
  504: 'failed',
  529: 'overloaded',
};

const REASON_BY_TYPE: Readonly<Record<string, FailureReason>> = {
  overloaded_error: 'overloaded',
  rate_limit_error: 'rate_limited',
  rate_limit_exceeded: 'rate_limited',
  authentication_error: 'misconfigured',
  permission_error: 'misconfigured',
  billing_error: 'misconfigured',
  not_found_error: 'misconfigured',
  invalid_request_error: 'rejected',
  request_too_large: 'too_large',
  // error codes of failed OpenAI responses
  context_length_exceeded: 'context_length',
  insufficient_quota: 'misconfigured',
  invalid_prompt: 'rejected',
  bio_policy: 'content_policy',
  server_is_overloaded: 'overloaded',
  slow_down: 'overloaded',
};

/** Matches OpenAI's error codes for images that it could not read. */
const IMAGE_FAULT = /image/;

/**
 * Messages that servers of open models send with a 500 or 501 for requests they cannot serve: llama.cpp "Cannot use tools with stream";
 * vLLM, SGLang and Ollama about templates, grammars and images. "invalid" alone may be a fault of the server (a device, a memory address).
 */
const REFUSED_IN_WORDS =
  /\bnot (?:yet )?(?:supported|implemented|allowed)\b|\bunsupported\b|\b(?:does not|doesn't) support\b|\bcannot (?:use|parse)\b|\bfailed to parse\b|\binvalid (?:request|parameter|argument value|value|type|json|schema|grammar|regex|template|tool|role|message|image|url|input|format)/;
const INVALID_REQUEST = /\binvalid_(?:request|parameter|value)|\bunsupported_/;

/** Converts an HTTP response outside 2xx to a failure, refined by its `body`. */
export function failureOfStatus(
  status: number,
  retryAfterMs: number | undefined,
  body: unknown,
): ProviderFailure {
  const byStatus = REASON_BY_STATUS[status] ?? (status >= 500 ? 'failed' : 'malformed');
  const error = errorOf(body);
  const details = { status, said: messageOf(error) };
  return new ProviderFailure(
    refine(byStatus, error),
    retryAfterMs === undefined ? details : { ...details, retryAfterMs },
  );
}

/** Converts an error object inside a 200 response or a stream to a failure. */
export function failureOfError(error: unknown): ProviderFailure {
  const object = objectOf(error);
  const numeric = typeof object.code === 'number' ? object.code : object.status;
  const byNumber = typeof numeric === 'number' ? REASON_BY_STATUS[numeric] : undefined;
  const byType = REASON_BY_TYPE[textOf(object.type)] ?? REASON_BY_TYPE[textOf(object.code)];
  const byImage = IMAGE_FAULT.test(textOf(object.code)) ? 'rejected' : undefined;
  const details = { said: typeof error === 'string' ? error : messageOf(object) };
  return new ProviderFailure(refine(byNumber ?? byType ?? byImage ?? 'failed', object), details);
}

/** Throws a failure if a 200 response or one of its events is an error: an error object, its text alone, or vLLM's form. */
export function throwIfError(answer: JsonObject): void {
  if (isObject(answer.error) || (typeof answer.error === 'string' && answer.error !== '')) {
    throw failureOfError(answer.error);
  }
  if (answer.object === 'error') {
    throw failureOfError(answer);
  }
}

/** Parses one whole JSON answer. Throws {@link ProviderFailure}: the error that it is, or `malformed` if it is neither. */
export function answerOf(text: string): JsonObject {
  const parsed = parseJson(text);
  // Gemini puts its errors into a list of one
  const answer = Array.isArray(parsed) && parsed.length === 1 ? parsed[0] : parsed;
  if (!isObject(answer)) {
    throw new ProviderFailure('malformed');
  }
  throwIfError(answer);
  return answer;
}

/** Returns the object that describes the error: the `error` member (OpenAI, Anthropic), Gemini's list of one, or the body itself. */
function errorOf(body: unknown): JsonObject {
  const whole = objectOf(Array.isArray(body) ? body[0] : body);
  return isObject(whole.error) ? whole.error : whole;
}

/** Returns the error message. Most servers name it `message`, TGI and Ollama `error`, FastAPI `detail`. */
function messageOf(error: JsonObject): string {
  const detail = typeof error.detail === 'object' ? JSON.stringify(error.detail) : textOf(error.detail);
  return textOf(error.message) || textOf(error.error) || detail;
}

/**
 * Matches errors about an input that is too long: OpenAI, vLLM, SGLang, Mistral and Groq mention the context length, Anthropic the prompt
 * or its sum with the cap, llama.cpp its context size, Gemini the token count, TGI "must have less than N tokens".
 */
const TOO_LONG =
  /context[_ ]length|context[_ ]window|prompt is too long|maximum context|exceed_context|context size|exceed context limit|input token count[^.]*exceeds|must have less than \d+ tokens|`inputs` tokens \+ `max_new_tokens`/;

/** Refines a reason: providers use one status both for errors of the caller and for those the operator must pay for or fix. */
function refine(reason: FailureReason, error: JsonObject): FailureReason {
  const codes = `${textOf(error.code)} ${textOf(error.type)}`.toLowerCase();
  const message = messageOf(error).slice(0, 2_000).toLowerCase();
  if (reason === 'rate_limited') {
    return codes.includes('insufficient_quota') ? 'misconfigured' : reason;
  }
  if (reason === 'failed') {
    return INVALID_REQUEST.test(codes) || REFUSED_IN_WORDS.test(message) ? 'unsupported' : reason;
  }
  if (reason === 'too_large') {
    return TOO_LONG.test(message) ? 'context_length' : reason;
  }
  if (reason !== 'rejected') {
    return reason;
  }
  if (message.includes('credit balance') || codes.includes('billing')) {
    return 'misconfigured';
  }
  if (TOO_LONG.test(`${codes} ${message}`)) {
    return 'context_length';
  }
  return /content_filter|content_policy|responsibleai/.test(codes) ? 'content_policy' : reason;
}

import { isObject, type JsonObject, objectOf, textOf } from './json.ts';
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
  // what a response of OpenAI's failed of
  context_length_exceeded: 'context_length',
  insufficient_quota: 'misconfigured',
  invalid_prompt: 'rejected',
  bio_policy: 'content_policy',
  server_is_overloaded: 'overloaded',
  slow_down: 'overloaded',
};

/** … and of pictures that it could not read. */
const IMAGE_FAULT = /image/;

/**
 * What servers of open models say with a 500 or 501 of requests that they cannot serve: llama.cpp "Cannot use tools with stream",
 * vLLM, SGLang and Ollama of templates, grammars and images. "invalid" alone may be a fault of theirs (a device, a memory address).
 */
const REFUSED_IN_WORDS =
  /\bnot (?:yet )?(?:supported|implemented|allowed)\b|\bunsupported\b|\b(?:does not|doesn't) support\b|\bcannot (?:use|parse)\b|\bfailed to parse\b|\binvalid (?:request|parameter|argument value|value|type|json|schema|grammar|regex|template|tool|role|message|image|url|input|format)/;
const INVALID_REQUEST = /\binvalid_(?:request|parameter|value)|\bunsupported_/;

/** The failure that an HTTP answer outside 2xx stands for, with what `body` says about it. */
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

/** The failure that an error object inside a 200 answer or a stream stands for. */
export function failureOfError(error: unknown): ProviderFailure {
  const object = objectOf(error);
  const numeric = typeof object.code === 'number' ? object.code : object.status;
  const byNumber = typeof numeric === 'number' ? REASON_BY_STATUS[numeric] : undefined;
  const byType = REASON_BY_TYPE[textOf(object.type)] ?? REASON_BY_TYPE[textOf(object.code)];
  const byImage = IMAGE_FAULT.test(textOf(object.code)) ? 'rejected' : undefined;
  const details = { said: typeof error === 'string' ? error : messageOf(object) };
  return new ProviderFailure(refine(byNumber ?? byType ?? byImage ?? 'failed', object), details);
}

/** Throws the failure that an answer or event of a 200 stands for: an error object, its text alone, or vLLM's form. */
export function throwIfError(answer: JsonObject): void {
  if (isObject(answer.error) || (typeof answer.error === 'string' && answer.error !== '')) {
    throw failureOfError(answer.error);
  }
  if (answer.object === 'error') {
    throw failureOfError(answer);
  }
}

/** The object that tells of an error: OpenAI's and Anthropic's member, Gemini's list of one, or the body itself. */
function errorOf(body: unknown): JsonObject {
  const whole = objectOf(Array.isArray(body) ? body[0] : body);
  return isObject(whole.error) ? whole.error : whole;
}

/** Most say `message`, TGI and Ollama `error`, FastAPI `detail`. */
function messageOf(error: JsonObject): string {
  const detail = typeof error.detail === 'object' ? JSON.stringify(error.detail) : textOf(error.detail);
  return textOf(error.message) || textOf(error.error) || detail;
}

/**
 * An input that does not fit: OpenAI, vLLM, SGLang, Mistral and Groq name the context length, Anthropic the prompt or its sum with the
 * cap, llama.cpp its context size, Gemini the token count, TGI "must have less than N tokens".
 */
const TOO_LONG =
  /context[_ ]length|context[_ ]window|prompt is too long|maximum context|exceed_context|context size|exceed context limit|input token count[^.]*exceeds|must have less than \d+ tokens|`inputs` tokens \+ `max_new_tokens`/;

/** Providers put different faults behind one status: what the caller did, and what the operator must pay or fix. */
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

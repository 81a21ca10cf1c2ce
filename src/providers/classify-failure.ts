import { isObject, type JsonObject, objectOf, parseProviderJson, textOf } from './json.ts';
import { type FailureReason, ProviderFailure } from './provider-failure.ts';
import { SplitCharacters } from './split-characters.ts';

const REASON_BY_STATUS: Readonly<Record<number, FailureReason>> = {
  400: 'rejected',
  401: 'misconfigured',
  402: 'misconfigured',
  403: 'misconfigured',
  404: 'misconfigured',
  405: 'misconfigured',
  406: 'misconfigured',
  407: 'misconfigured',
  408: 'overloaded',
  409: 'overloaded',
  410: 'misconfigured',
  // Fireworks: the account is suspended or over its spending limit
  412: 'misconfigured',
  413: 'too_large',
  415: 'misconfigured',
  421: 'misconfigured',
  422: 'rejected',
  // Bedrock and Hugging Face: the model's own server failed
  424: 'failed',
  425: 'overloaded',
  426: 'misconfigured',
  429: 'rate_limited',
  431: 'misconfigured',
  // Groq: no capacity for the flex tier
  498: 'overloaded',
  // nginx: whoever is between the provider's proxy and its server gave up
  499: 'failed',
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
/** Words about an input that is too long which no fault of a server uses, for errors with neither a status nor a known code. */
const SURELY_TOO_LONG = /prompt is too long|maximum context length/i;
const INVALID_REQUEST = /\binvalid_(?:request|parameter|value)|\bunsupported_/;

/** Converts an HTTP response outside 2xx to a failure, refined by its `body`: parsed JSON, or else its text. */
export function failureOfStatus(
  status: number,
  retryAfterMs: number | undefined,
  body: unknown,
): ProviderFailure {
  const error = errorOf(body);
  const details = { status, said: messageOf(error) };
  return new ProviderFailure(
    reasonOfStatus(status, error),
    retryAfterMs === undefined ? details : { status, said: details.said, retryAfterMs },
  );
}

function reasonOfStatus(status: number, error: JsonObject): FailureReason {
  const known = REASON_BY_STATUS[status];
  if (known !== undefined) {
    return refine(known, error);
  }
  if (status >= 500) {
    return refine('failed', error);
  }
  if (status < 400) {
    // redirects are not followed: they would take the key elsewhere, and mean that base_url is not the API's own address
    return 'misconfigured';
  }
  // RFC 9110 has an unknown 4xx treated like 400. Unlike with 400, what it objects to is unclear: another route may not mind.
  const reason = refine('rejected', error);
  return reason === 'rejected' ? 'unsupported' : reason;
}

/** Failures about the request. The provider's message then is for the caller, like that of a response with such a status. */
const STATUS_BY_REASON: Partial<Readonly<Record<FailureReason, number>>> = {
  rejected: 400,
  context_length: 400,
  content_policy: 400,
  too_large: 413,
};

/** Converts an error object inside a 200 response or a stream to a failure. */
export function failureOfError(error: unknown): ProviderFailure {
  const object = typeof error === 'string' ? { message: error } : objectOf(error);
  const number = statusIn(object.code) ?? statusIn(object.status);
  const byNumber = number === undefined ? undefined : REASON_BY_STATUS[number];
  const byType = REASON_BY_TYPE[textOf(object.type)] ?? REASON_BY_TYPE[textOf(object.code)];
  const byImage = IMAGE_FAULT.test(textOf(object.code)) ? 'rejected' : undefined;
  const said = messageOf(object);
  const byWords = number === undefined && SURELY_TOO_LONG.test(said) ? 'rejected' : undefined;
  const reason = refine(byNumber ?? byType ?? byImage ?? byWords ?? 'failed', object);
  const status = STATUS_BY_REASON[reason];
  return new ProviderFailure(reason, status === undefined ? { said } : { said, status });
}

/** Returns the HTTP status that an error names in place of its own code, as a number or, as LiteLLM does, as text. */
function statusIn(value: unknown): number | undefined {
  if (typeof value === 'number') {
    return value;
  }
  return typeof value === 'string' && /^[45]\d\d$/.test(value) ? Number(value) : undefined;
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
  const parsed = new SplitCharacters().joined(text, parseProviderJson(text));
  // Gemini puts its errors into a list of one
  const answer = Array.isArray(parsed) && parsed.length === 1 ? parsed[0] : parsed;
  if (!isObject(answer)) {
    throw new ProviderFailure('malformed');
  }
  throwIfError(answer);
  return answer;
}

/** A page for people, by a proxy or a wrong address. */
const MARKUP = /^\s*</;

/**
 * Returns the object that describes the error: the `error` member (OpenAI, Anthropic), the first of a list `errors` (Cloudflare), Gemini's
 * list of one, or the body itself. Text is its message.
 */
function errorOf(body: unknown): JsonObject {
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

/** Returns the error message. One in the form of an object or a list, such as FastAPI's, is returned as JSON. */
function messageOf(error: JsonObject): string {
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

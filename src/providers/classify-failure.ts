import { errorOf, messageOf, pauseOf } from './error-body.ts';
import { isSurelyTooLong, refine } from './failure-words.ts';
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
  // Kimi, Cerebras and DashScope
  engine_overloaded_error: 'overloaded',
  rate_limit_reached_error: 'rate_limited',
  too_many_requests_error: 'rate_limited',
  limit_requests: 'rate_limited',
  limit_burst_rate: 'rate_limited',
  invalid_parameter_error: 'rejected',
};

/** Matches OpenAI's error codes for images that it could not read. */
const IMAGE_FAULT = /image/;

/** Converts an HTTP response outside 2xx to a failure, refined by its `body`: parsed JSON, or else its text. */
export function failureOfStatus(
  status: number,
  retryAfterMs: number | undefined,
  body: unknown,
): ProviderFailure {
  const error = errorOf(body);
  const pauseMs = retryAfterMs ?? pauseOf(error);
  const details = { status, said: messageOf(error) };
  return new ProviderFailure(
    reasonOfStatus(status, error),
    pauseMs === undefined ? details : { ...details, retryAfterMs: pauseMs },
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
  const byWords = number === undefined && isSurelyTooLong(said) ? 'rejected' : undefined;
  const reason = refine(byNumber ?? byType ?? byImage ?? byWords ?? 'failed', object);
  const status = STATUS_BY_REASON[reason];
  const retryAfterMs = pauseOf(object);
  return new ProviderFailure(reason, {
    said,
    ...(status !== undefined && { status }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}

/** Returns the HTTP status that an error names in place of its own code, as a number or, as LiteLLM does, as text. */
function statusIn(value: unknown): number | undefined {
  if (typeof value === 'number') {
    return value;
  }
  return typeof value === 'string' && /^[45]\d\d$/.test(value) ? Number(value) : undefined;
}

/** Statuses for the codes that MiniMax puts into its 200 responses; of all others its own fault is assumed. */
const STATUS_BY_BASE_CODE: Readonly<Record<number, number>> = {
  1002: 429,
  1004: 401,
  1008: 402,
  1026: 400,
  1027: 400,
  1039: 429,
  1041: 429,
  2013: 400,
  2045: 429,
  2049: 401,
};

/** Throws a failure if a 200 response or one of its events is an error: an error object, its text alone, vLLM's or MiniMax's form. */
export function throwIfError(answer: JsonObject): void {
  if (isObject(answer.error) || (typeof answer.error === 'string' && answer.error !== '')) {
    throw failureOfError(answer.error);
  }
  if (answer.object === 'error') {
    throw failureOfError(answer);
  }
  if (isObject(answer.base_resp)) {
    throwIfBaseError(answer.base_resp);
  }
}

function throwIfBaseError({ status_code: code, status_msg: message }: JsonObject): void {
  if (typeof code === 'number' && code !== 0) {
    throw failureOfError({ code: STATUS_BY_BASE_CODE[code] ?? 500, message });
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

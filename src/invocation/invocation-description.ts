import { IGNORED_ANSWER_HEADER } from '../http/input/ignored-members.ts';
import type { ErrorCode } from '../lib/errors.ts';

/** Errors an invocation may return in addition to those of every route. */
export const INVOCATION_ERRORS: readonly ErrorCode[] = [
  'invalid_parameter',
  'unsupported_input',
  'model_not_found',
  'model_not_supported_on_endpoint',
  'context_length_exceeded',
  'insufficient_credits',
  'key_limit_exceeded',
  'max_cost_exceeded',
  'model_not_allowed',
  'account_suspended',
  'payload_too_large',
  'concurrency_limit_exceeded',
  'provider_rate_limited',
  'provider_error',
  'provider_overloaded',
  'provider_timeout',
  'service_unavailable',
];

/** Errors a token count may return in addition to those of every route. */
export const COUNT_ERRORS: readonly ErrorCode[] = [
  'invalid_parameter',
  'unsupported_input',
  'model_not_found',
  'model_not_supported_on_endpoint',
  'model_not_allowed',
  'payload_too_large',
  'service_unavailable',
];

/** Response headers of calls to text models. */
export const INVOCATION_ANSWER_HEADERS: Readonly<Record<string, string>> = {
  ...IGNORED_ANSWER_HEADER,
  'X-Max-Tokens-Clamped': "The output cap in effect, when it is lower than requested or than the model's own",
};

import { AppError } from '../lib/errors.ts';
import type { FailureReason, ProviderFailure } from '../providers/provider-failure.ts';

/** Suggested wait when the provider names none, in seconds. */
const RETRY_AFTER_SECONDS = 2;

/** What the client is told about a failed provider call: our words only, never the provider's. */
export function clientErrorOf(failure: ProviderFailure): AppError {
  const retryAfterSeconds = Math.max(
    1,
    Math.ceil((failure.retryAfterMs ?? RETRY_AFTER_SECONDS * 1000) / 1000),
  );
  const waiting = { retryAfterSeconds, cause: failure };
  switch (failure.reason) {
    case 'rate_limited':
      return new AppError(
        'provider_rate_limited',
        'the model is at its rate limit, please retry later',
        waiting,
      );
    case 'overloaded':
    case 'circuit_open':
      return new AppError('provider_overloaded', 'the model is overloaded, please retry later', waiting);
    case 'timeout':
      return new AppError('provider_timeout', 'the model did not answer in time', { cause: failure });
    default:
      return refusalOf(failure.reason, failure) ?? failed(failure);
  }
}

function refusalOf(reason: FailureReason, cause: ProviderFailure): AppError | undefined {
  switch (reason) {
    case 'rejected':
    case 'unsupported':
      return new AppError('invalid_request', 'the model does not accept this request; check its parameters', {
        cause,
      });
    case 'context_length':
      return new AppError('context_length_exceeded', "the messages do not fit into the model's context", {
        cause,
      });
    case 'content_policy':
      return new AppError('invalid_request', "the request was refused by the model's content policy", {
        cause,
      });
    case 'too_large':
      return new AppError('payload_too_large', 'the request is larger than the model accepts', { cause });
    default:
      return undefined;
  }
}

function failed(cause: ProviderFailure): AppError {
  return new AppError('provider_error', 'the model failed to answer, please retry', { cause });
}

import type { ProviderAttempt } from '../ledger/ledger.types.ts';
import { AppError, type ErrorCode } from '../lib/errors.ts';
import { publicId } from '../lib/ids.ts';
import type { ProviderFailure } from '../providers/provider-failure.ts';
import type { InputEstimate } from './input-estimate.ts';
import { contextExceeded } from './input-estimate.ts';
import type { InvocableModel } from './invocation.types.ts';
import type { LiveCallParts } from './live-call.types.ts';

/** Suggested wait when the provider suggests none, in seconds. */
const RETRY_AFTER_SECONDS = 2;
/** Statuses with which a provider explains what is wrong with the request. Messages with other statuses are not for the caller. */
const EXPLAINING_STATUSES: ReadonlySet<number | undefined> = new Set([400, 404, 413, 422]);
/** The wording from which agents read the figures, to shorten by the right amount. */
const OVERFLOW = /prompt is too long[^0-9]*\d+ tokens > \d+/i;

/** Most characters of a provider's message shown to a caller, in UTF-16 units. */
const MESSAGE_MAX = 400;
/** Patterns that may identify an account or a machine: addresses of any kind, names of organizations, long random ids. */
const PRIVATE = [
  [/\b[a-z][a-z0-9+.-]*:\/\/[^\s"'<>)\]]+/gi, '[address]'],
  [/\b[\w.+-]+@[\w-]+\.[\w.-]+/g, '[address]'],
  [/\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b/g, '[address]'],
  [/\b(?:org|proj|acct|account|project|user|team|req|request)[-_][\w-]{6,}/gi, '[id]'],
  [/\b(?=[\w-]*\d)(?=[\w-]*[a-z])[\w-]{24,}\b/gi, '[id]'],
] as const;

const TOO_LONG =
  "the model's answer is larger than 48 MB; ask for fewer inputs or log probabilities at once, or for a stream";
const GARBLED =
  'the model wrote a call or an answer that its own server could not read, please retry or change the prompt';
const OPERATORS_FAULT = 'the model is misconfigured on this installation; its operator has to fix that';

/** The model and input of a rejected call. */
export interface RefusedCall {
  readonly model: InvocableModel;
  readonly input: Pick<InputEstimate, 'tokens'>;
}

/** Logs the providers' own failure messages for the operator. */
export function logRefusals(
  { log, hold }: Pick<LiveCallParts, 'log' | 'hold'>,
  attempts: readonly ProviderAttempt[],
): void {
  const said = attempts.filter((attempt) => attempt.said !== undefined);
  if (said.length > 0) {
    log.warn({ generationId: publicId('generation', hold.id), attempts: said }, 'providers refused a call');
  }
}

/** Returns the error to send to the client for a failed provider call: our message, plus the provider's where it concerns the request. */
export function clientErrorOf(failure: ProviderFailure, call: RefusedCall): AppError {
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
    case 'context_length':
      return overflow(failure, call);
    case 'rejected':
    case 'unsupported':
      return refusal('invalid_request', 'the model does not accept this request', failure, call);
    case 'content_policy':
      return refusal('invalid_request', "the model's content policy rejected the request", failure, call);
    case 'too_large':
      return refusal('payload_too_large', 'the request is larger than the model accepts', failure, call);
    case 'too_long':
      return refusal('provider_error', TOO_LONG, failure, call, { shouldRetry: false });
    case 'garbled':
      return refusal('provider_error', GARBLED, failure, call);
    case 'misconfigured':
      // a problem with the operator's key, account or route: a retry would fail the same way
      return refusal('provider_error', OPERATORS_FAULT, failure, call, { shouldRetry: false });
    default:
      return refusal('provider_error', 'the model failed to answer, please retry', failure, call);
  }
}

function refusal(
  code: ErrorCode,
  ours: string,
  failure: ProviderFailure,
  call: RefusedCall,
  options: { readonly shouldRetry?: boolean } = {},
): AppError {
  const said = toldWords(failure, call);
  return new AppError(code, said === '' ? ours : `${ours}: ${said}`, { ...options, cause: failure });
}

/** Returns the error for an input that is too long. The provider's limit may differ from the catalog's, so its own figures come first. */
function overflow(failure: ProviderFailure, call: RefusedCall): AppError {
  const said = toldWords(failure, call);
  if (OVERFLOW.test(said)) {
    return new AppError('context_length_exceeded', said, { cause: failure });
  }
  const { contextLength } = call.model;
  if (call.input.tokens > contextLength) {
    return contextExceeded(call.input.tokens, contextLength);
  }
  const ours =
    "prompt is too long: together with the output cap it exceeds the model's maximum context length";
  return refusal('context_length_exceeded', ours, failure, call);
}

function toldWords({ reason, status, said }: ProviderFailure, { model }: RefusedCall): string {
  // with a 400, too, some providers speak of the operator's key or balance, which is no caller's business
  const isOperators = reason === 'misconfigured' && status !== 404;
  return EXPLAINING_STATUSES.has(status) && !isOperators ? scrubbed(said, model) : '';
}

/**
 * Removes from a provider's message, already free of keys, everything else that only the operator may see: addresses, ids, and the
 * provider's names for its models.
 */
export function scrubbed(text: string, { id, routes }: Pick<InvocableModel, 'id' | 'routes'>): string {
  let told = text
    .slice(0, MESSAGE_MAX * 2)
    .replace(/\s+/g, ' ')
    .trim();
  for (const [pattern, word] of PRIVATE) {
    told = told.replace(pattern, word);
  }
  for (const { model, provider } of routes) {
    told = replaceWord(replaceWord(told, model, id), provider, 'the provider');
  }
  return told.length > MESSAGE_MAX ? `${told.slice(0, MESSAGE_MAX - 1)}…` : told;
}

/** Replaces whole words only: a provider called `open` must not match inside other words. */
function replaceWord(text: string, word: string, by: string): string {
  const escaped = word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return text.replace(new RegExp(`(?<![\\w/.-])${escaped}(?![\\w/-])`, 'g'), () => by);
}

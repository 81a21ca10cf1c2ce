import { t } from '../lib/text.ts';
import { ApiError } from './client.ts';

/** Returns the seconds after which the service wants to be asked again; undefined if waiting does not help. */
export function waitOf(error: unknown): number | undefined {
  const isBusy = error instanceof ApiError && (error.status === 429 || error.status === 503);
  return isBusy ? error.retryAfterSeconds : undefined;
}

/** Explains an error to the reader, in the language of the page. */
export function errorText(error: unknown): string {
  if (!(error instanceof ApiError)) {
    return error instanceof Error ? error.message : String(error);
  }
  switch (error.code) {
    case 'network':
      return t('The service cannot be reached. Check the connection; nothing was lost.');
    case 'outcome_unknown':
      return t(
        'The service cannot be reached. It is not known whether this was done; trying again does not do it twice.',
      );
    case 'answer_lost':
      return t(
        'The connection was lost. What arrived is shown; Generations has the charge. Asking again is a new call.',
      );
    case 'insufficient_credits':
      return t('Not enough credits for the maximum cost of this call. You paid nothing.');
    case 'key_limit_exceeded':
      return t('The key’s limit does not cover the maximum cost of this call. You paid nothing.');
    case 'max_cost_exceeded':
      return t('This would cost more than the amount shown. Nothing was sent; you paid nothing.');
    case 'invalid_api_key':
      return t('This is not a key of this service. Check that you copied all of it.');
    case 'key_disabled':
      return t('This key is disabled. Use another key, or ask an owner to enable it.');
    case 'key_expired':
      return t('This key has expired. Use another key.');
    case 'account_suspended':
      return t('The account is suspended: read only, no calls and no changes.');
    case 'insufficient_scope':
      return t('The key or role you are signed in with is not allowed to do this.');
    case 'rate_limit_exceeded':
    case 'concurrency_limit_exceeded':
    case 'provider_rate_limited':
      return t('Too many requests.');
    case 'service_unavailable':
    case 'provider_overloaded':
      return t('The service is overloaded.');
    case 'key_in_use':
      return t('You are signed in with this key: it cannot disable or delete itself.');
    default:
      return error.message;
  }
}

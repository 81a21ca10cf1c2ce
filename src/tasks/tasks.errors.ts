import { AppError } from '../lib/errors.ts';

/** The same answer for a task that does not exist, is another account's, or has a malformed id: callers cannot tell which. */
export function taskNotFound(): AppError {
  return new AppError('task_not_found', 'No such task.');
}

/** The errors of every submit, besides those of every route. */
export const SUBMIT_ERRORS = [
  'insufficient_credits',
  'key_limit_exceeded',
  'model_not_found',
  'model_not_allowed',
  'model_not_supported_on_endpoint',
  'account_suspended',
  'idempotency_in_progress',
  'idempotency_key_reused',
  'service_unavailable',
] as const;

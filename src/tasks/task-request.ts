import { ignoredHeader } from '../http/input/ignored-members.ts';
import { MAX_COST_HEADER } from '../http/input/max-cost.ts';
import type { Principal } from '../http/route.ts';
import { AppError } from '../lib/errors.ts';
import { parsePublicId, publicId } from '../lib/ids.ts';
import type { AccountScope } from './task-reads.store.ts';

/** Returns the scope of a caller: an inference key sees the tasks it submitted, an owner key all of its account. */
export function scopeOf(principal: Principal): AccountScope {
  const { accountId, apiKeyId, role } = principal;
  return { accountId, apiKeyId: role === 'owner' ? null : apiKeyId };
}

/** Returns the stored form of a task's public id. Throws AppError task_not_found for text that is not a task id. */
export function taskIdOf(text: string): string {
  const id = parsePublicId('generation', text);
  if (!id) {
    throw taskNotFound();
  }
  return id;
}

/** The same answer for a task that does not exist, is another account's, or has a malformed id: callers cannot tell which. */
export function taskNotFound(): AppError {
  return new AppError('task_not_found', 'No such task.');
}

/** What all routes that order something have in common; their errors are in addition to those of every route. */
export const SUBMIT = {
  requestHeaders: MAX_COST_HEADER,
  errors: [
    'insufficient_credits',
    'max_cost_exceeded',
    'key_limit_exceeded',
    'model_not_found',
    'model_not_allowed',
    'model_not_supported_on_endpoint',
    'account_suspended',
    'idempotency_in_progress',
    'idempotency_key_reused',
    'service_unavailable',
  ],
  idempotency: 'replay',
} as const;

/** Returns the response headers of the order of a task (stored id). `said` are the members of the body that were read. */
export function orderHeaders(taskId: string, body: object, said: readonly string[]): Record<string, string> {
  return { 'X-Generation-Id': publicId('generation', taskId), ...ignoredHeader(body, said) };
}

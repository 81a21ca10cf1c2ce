import type { Principal } from '../http/route.ts';
import { parsePublicId } from '../lib/ids.ts';
import type { AccountScope } from './task-reads.store.ts';
import { taskNotFound } from './tasks.errors.ts';

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

import { AppError } from '../lib/errors.ts';

/** The one answer for a task that does not exist, is another account's, or whose id is no id: nobody can tell which. */
export function taskNotFound(): AppError {
  return new AppError('task_not_found', 'No such task.');
}

import type { AttemptOutcome } from '../../src/tasks/generate.types.ts';
import { TaskFailedError } from '../job-context.ts';

/** The outcome of a job by what became of its task. Throws TaskFailedError for one that failed for good. */
export function outcomeOf({ result, code = 'internal_error' }: AttemptOutcome): string {
  if (result === 'failed') {
    throw new TaskFailedError(code);
  }
  return result;
}

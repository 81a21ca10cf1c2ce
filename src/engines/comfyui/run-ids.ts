import { createHash } from 'node:crypto';

/** Runs of one task on one server that may have failed before we give up looking for a free id. */
export const RUNS_PER_TASK_MAX = 16;

/**
 * The prompt_id of a task's nth run (from 0) on a server: the task's own id first. A later run needs another, because the history
 * would answer for the failed one.
 */
export function promptIdOf(taskId: string, run: number): string {
  if (run === 0) {
    return taskId;
  }
  const hex = createHash('sha256').update(`${taskId}/${run}`).digest('hex');
  // The layout of a UUID of version 8 (RFC 9562 §5.8).
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

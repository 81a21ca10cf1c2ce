import type { Task } from '../../api/types.gen.ts';

const LIVE: readonly string[] = ['queued', 'generating', 'generated', 'processing'];

/** Returns whether a task has not ended yet. */
export function isLive({ status }: Pick<Task, 'status'>): boolean {
  return LIVE.includes(status);
}

/** States of a running task, as a filter. */
export const RUNNING = 'generating,generated,processing';

/** Returns the address of the preview image of a task, if it has one. */
export function pictureOf(task: Pick<Task, 'thumbnail_url' | 'poster_url'>): string | undefined {
  return task.thumbnail_url ?? task.poster_url ?? undefined;
}

import type { Task } from '../../api/types.gen.ts';

const LIVE: readonly string[] = ['queued', 'generating', 'generated', 'processing'];

/** Whether a task is still in the making. */
export function isLive({ status }: Pick<Task, 'status'>): boolean {
  return LIVE.includes(status);
}

/** States of a task that is at work, as a filter. */
export const RUNNING = 'generating,generated,processing';

/** Address of the small picture of a task, where it has one. */
export function pictureOf(task: Pick<Task, 'thumbnail_url' | 'poster_url'>): string | undefined {
  return task.thumbnail_url ?? task.poster_url ?? undefined;
}

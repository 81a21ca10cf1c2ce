import type { Task } from '../../api/types.gen.ts';

const LIVE: readonly string[] = ['queued', 'generating', 'generated', 'processing'];

/** Whether a task is still in the making. */
export function isLive({ status }: Pick<Task, 'status'>): boolean {
  return LIVE.includes(status);
}

/** Path of a file of a task, which leads to its signed address. */
export function contentQuery(
  task: Task,
  variant: 'original' | 'thumbnail' | 'poster',
): { index: number; variant: string } | undefined {
  const output = task.outputs.find((candidate) => candidate.variant === variant);
  return output && { index: output.index, variant };
}

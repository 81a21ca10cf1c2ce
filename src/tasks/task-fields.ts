import { publicId } from '../lib/ids.ts';

/**
 * What names a task in a log line: its public id, which customers know, and its attempt. `id`: UUID. A task and its
 * generation have the same id; both names are searched for.
 */
export function taskFields({ id, attempt }: { readonly id: string; readonly attempt?: number }): {
  readonly taskId: string;
  readonly generationId: string;
  readonly attempt?: number;
} {
  const publicTaskId = publicId('generation', id);
  return { taskId: publicTaskId, generationId: publicTaskId, ...(attempt !== undefined && { attempt }) };
}

import { publicId } from '../lib/ids.ts';

/**
 * Returns the fields that identify a task in a log line: its public id, which customers know, and its attempt. `id` is the UUID. A
 * task and its generation have the same id; it is logged under both names because people search for either.
 */
export function taskFields({ id, attempt }: { readonly id: string; readonly attempt?: number }): {
  readonly taskId: string;
  readonly generationId: string;
  readonly attempt?: number;
} {
  const publicTaskId = publicId('generation', id);
  return { taskId: publicTaskId, generationId: publicTaskId, ...(attempt !== undefined && { attempt }) };
}

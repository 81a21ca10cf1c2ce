import { z } from 'zod';
import { defineJob, traceFields } from '../define-job.ts';

/** Turns the raw output of a generated task into its files and settles it. */
export const postprocessTask = defineJob({
  name: 'tasks.postprocess',
  family: 'postprocess',
  payload: z.strictObject({ taskId: z.guid(), dispatch: z.int().min(1), ...traceFields }),
  jobId: ({ taskId, dispatch }) => `${taskId}-${dispatch}`,
  timeoutMs: 15 * 60_000,
});

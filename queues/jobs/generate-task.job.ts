import { z } from 'zod';
import { defineJob, traceFields } from '../define-job.ts';

/** Runs a queued task on its engine. The relay sends it; `dispatch` makes each sending its own job. */
export const generateTask = defineJob({
  name: 'tasks.generate',
  family: 'generate',
  payload: z.strictObject({ taskId: z.guid(), dispatch: z.int().min(1), ...traceFields }),
  jobId: ({ taskId, dispatch }) => `${taskId}-${dispatch}`,
  // Above the longest run an engine is given: that limit ends the attempt in an orderly way, this one is the net.
  timeoutMs: 130 * 60_000,
});

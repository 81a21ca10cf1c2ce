import type { Processor } from '../job-context.ts';
import type { WorkerServices } from '../worker-services.ts';
import { outcomeOf } from './task-outcome.ts';

/** Turns a task's raw output into its files and settles it. */
export function postprocessTaskProcessor(
  services: Pick<WorkerServices, 'postprocess'>,
): Processor<'tasks.postprocess'> {
  return async ({ taskId }, { signal }) => outcomeOf(await services.postprocess.run(taskId, signal));
}

import type { Processor } from '../job-context.ts';
import type { WorkerServices } from '../worker-services.ts';

/** Turns a task's raw output into its files and settles it. */
export function postprocessTaskProcessor(
  services: Pick<WorkerServices, 'postprocess'>,
): Processor<'tasks.postprocess'> {
  return async ({ taskId }, { signal }) => (await services.postprocess.run(taskId, signal)).result;
}

import type { Producer } from '../../queues/producer.ts';
import type { Processor } from '../job-context.ts';
import type { WorkerServices } from '../worker-services.ts';

/** Runs a task on its engine; an upstream that asked for patience gets it from the whole pool. */
export function generateTaskProcessor(
  services: Pick<WorkerServices, 'generate'>,
  producer: Pick<Producer, 'pauseFor'>,
): Processor<'tasks.generate'> {
  return async ({ taskId }, { queue, signal, log }) => {
    const { result, pausePoolMs } = await services.generate.run(taskId, signal);
    if (pausePoolMs !== undefined) {
      log.warn({ pausePoolMs }, 'the engine asked for a pause');
      // Without Redis no worker takes jobs anyway.
      await producer.pauseFor(queue, pausePoolMs).catch(() => undefined);
    }
    return result;
  };
}

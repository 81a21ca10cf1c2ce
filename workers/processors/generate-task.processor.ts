import type { Producer } from '../../queues/producer.ts';
import { poolOf } from '../../queues/queue-name.ts';
import { publicId } from '../../src/lib/ids.ts';
import type { Processor } from '../job-context.ts';
import type { WorkerServices } from '../worker-services.ts';
import { outcomeOf } from './task-outcome.ts';

/** Runs a task on its engine; a pool that is busy for several accounts, or has no room to write, rests. */
export function generateTaskProcessor(
  services: Pick<WorkerServices, 'generate'>,
  producer: Pick<Producer, 'pauseFor'>,
): Processor<'tasks.generate'> {
  return async ({ taskId }, { queue, signal, log }) => {
    const { ranInstead, ...outcome } = await services.generate.run(taskId, signal, poolOf(queue));
    const { pausePoolMs } = outcome;
    if (pausePoolMs !== undefined) {
      log.warn({ pausePoolMs }, 'the pool rests');
      // Without Redis no worker takes jobs anyway.
      await producer.pauseFor(queue, pausePoolMs).catch(() => undefined);
    }
    if (ranInstead === undefined) {
      return outcomeOf(outcome);
    }
    const { result, code } = outcome;
    log.info(
      { ranInstead: publicId('generation', ranInstead), outcome: result, ...(code && { code }) },
      'the turn went to a task whose model is loaded here',
    );
    // how that task ended says nothing of the one that the job names
    return result;
  };
}

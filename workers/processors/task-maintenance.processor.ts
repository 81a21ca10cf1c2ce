import type { Processor } from '../job-context.ts';
import type { WorkerServices } from '../worker-services.ts';

/** Repairs what died. */
export function sweepTasksProcessor(
  services: Pick<WorkerServices, 'sweeps'>,
): Processor<'maintenance.sweep-tasks'> {
  return async () => ({ ...(await services.sweeps.sweep()) });
}

/** Lets tasks go on to where they can be served. */
export function moveTasksProcessor(
  services: Pick<WorkerServices, 'overflow'>,
): Processor<'maintenance.move-tasks'> {
  return async () => ({ tasks: await services.overflow.move() });
}

/** Deletes media past its retention. */
export function expireMediaProcessor(
  services: Pick<WorkerServices, 'retention'>,
): Processor<'maintenance.expire-media'> {
  return async (_, { signal }) => ({ tasks: await services.retention.expireMedia(signal) });
}

/** Deletes task rows past their retention. */
export function expireTasksProcessor(
  services: Pick<WorkerServices, 'retention'>,
): Processor<'maintenance.expire-tasks'> {
  return async (_, { signal }) => ({ tasks: await services.retention.expireTasks(signal) });
}

/** Deletes files that no task lists. */
export function sweepOrphansProcessor(
  services: Pick<WorkerServices, 'orphans'>,
): Processor<'maintenance.sweep-orphans'> {
  return async (_, { signal }) => ({ files: await services.orphans.sweep(signal) });
}

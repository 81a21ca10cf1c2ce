import type { Processor } from '../job-context.ts';
import type { WorkerServices } from '../worker-services.ts';

/** Closes holds of dead processes. */
export function reapHoldsProcessor(
  services: Pick<WorkerServices, 'reaper'>,
): Processor<'maintenance.reap-holds'> {
  return async () => ({ holds: await services.reaper.reap() });
}

/** Makes the partitions of the months ahead. */
export function makePartitionsProcessor(
  services: Pick<WorkerServices, 'months'>,
): Processor<'maintenance.make-partitions'> {
  return async () => ({ partitions: await services.months.createPartitions() });
}

/** Writes the statements of the months that are over. */
export function closeMonthsProcessor(
  services: Pick<WorkerServices, 'months'>,
): Processor<'maintenance.close-months'> {
  return async (_, { signal }) => ({ ...(await services.months.closeDueMonths(signal)) });
}

/** Sums the days that are over, and what was written off until an hour ago. */
export function rollUpDaysProcessor(
  services: Pick<WorkerServices, 'usageDays' | 'writeOffs'>,
): Processor<'maintenance.roll-up-days'> {
  return async () => {
    await services.writeOffs.rollUp();
    return { days: await services.usageDays.rollUp() };
  };
}

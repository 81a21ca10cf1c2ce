import type { Violation } from '../../src/ledger/ledger-verifier.ts';
import type { Logger } from '../../src/lib/logger.ts';
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
  return async () => ({ statements: await services.months.closeDueMonths() });
}

/** Proves the books, and calls a human when they are wrong. */
export function verifyLedgerProcessor(
  services: Pick<WorkerServices, 'verifier'>,
): Processor<'maintenance.verify-ledger'> {
  return async (_, { log }) => reported(await services.verifier.verify(), log);
}

/** Proves what is new in the books, and calls a human when it is wrong. */
export function verifyNewEntriesProcessor(
  services: Pick<WorkerServices, 'verifier'>,
): Processor<'maintenance.verify-new-entries'> {
  return async (_, { log }) => reported(await services.verifier.verifyIncrement(), log);
}

function reported({ violations }: { readonly violations: readonly Violation[] }, log: Logger) {
  if (violations.length > 0) {
    log.error({ violations }, 'the ledger violates its invariants');
  }
  return { violations: violations.length };
}

import type { Violation } from '../../src/ledger/ledger.types.ts';
import type { Logger } from '../../src/lib/logger.ts';
import type { Processor } from '../job-context.ts';
import type { WorkerServices } from '../worker-services.ts';

/** Proves the books of the day, and a part of those before; calls a human when they are wrong. */
export function verifyLedgerProcessor(
  services: Pick<WorkerServices, 'nightlyProof'>,
): Processor<'maintenance.verify-ledger'> {
  return async (_, { log }) => {
    const { violations, ...counts } = await services.nightlyProof.prove();
    return { ...counts, ...reported({ violations }, log) };
  };
}

/** Proves what is new in the books, and calls a human when it is wrong; keeps what is sealed outside of the database. */
export function verifyNewEntriesProcessor(
  services: Pick<WorkerServices, 'verifier' | 'bookRoots'>,
): Processor<'maintenance.verify-new-entries'> {
  return async (_, { log }) => {
    const { violations } = reported(await services.verifier.verifyIncrement(), log);
    const roots = await services.bookRoots?.writeDue();
    return { violations, roots: roots ?? 0 };
  };
}

function reported({ violations }: { readonly violations: readonly Violation[] }, log: Logger) {
  if (violations.length > 0) {
    log.error({ violations }, 'the ledger violates its invariants');
  }
  return { violations: violations.length };
}

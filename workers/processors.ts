import type { Producer } from '../queues/producer.ts';
import { poolOf } from '../queues/queue-name.ts';
import type { Violation } from '../src/ledger/ledger.types.ts';
import { publicId } from '../src/lib/ids.ts';
import type { Logger } from '../src/lib/logger.ts';
import type { AttemptOutcome } from '../src/tasks/generate.types.ts';
import { type Processor, type Processors, TaskFailedError } from './run-job.ts';
import type { WorkerServices } from './worker-services.ts';

const PAYMENTS_PER_RUN = 200;

/** The processor of every job. Each calls one service, which does all the work, and returns what became of it. */
export function createProcessors(services: WorkerServices, producer: Pick<Producer, 'pauseFor'>): Processors {
  return {
    'tasks.generate': generateTask(services, producer),
    'tasks.postprocess': async ({ taskId }, { signal }) =>
      outcomeOf(await services.postprocess.run(taskId, signal)),
    'webhooks.deliver': ({ deliveryId }) => services.webhooks.deliver(deliveryId),
    ...taskChores(services),
    ...ledgerChores(services),
    ...accountChores(services),
  };
}

/** Runs a task on its engine; a pool that is busy for several accounts, or has no room to write, rests. */
function generateTask(
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

/** The outcome of a job by what became of its task. Throws TaskFailedError for one that failed for good. */
function outcomeOf({ result, code = 'internal_error' }: AttemptOutcome): string {
  if (result === 'failed') {
    throw new TaskFailedError(code);
  }
  return result;
}

/** Chores of tasks: what died is repaired, what waits in vain moves on, what is past its retention goes. */
function taskChores(services: WorkerServices) {
  return {
    'maintenance.sweep-tasks': async () => ({ ...(await services.sweeps.sweep()) }),
    'maintenance.move-tasks': async () => ({ tasks: await services.overflow.move() }),
    'maintenance.expire-media': async (_, { signal }) => ({
      tasks: await services.retention.expireMedia(signal),
    }),
    'maintenance.expire-tasks': async (_, { signal }) => ({
      tasks: await services.retention.expireTasks(signal),
    }),
    // files that no task lists
    'maintenance.sweep-orphans': async (_, { signal }) => ({ files: await services.orphans.sweep(signal) }),
  } satisfies Partial<Processors>;
}

/** Chores of the books. A proof that finds them wrong calls a human. */
function ledgerChores(services: WorkerServices) {
  return {
    'maintenance.reap-holds': async () => ({ holds: await services.reaper.reap() }),
    'maintenance.make-partitions': async () => ({ partitions: await services.months.createPartitions() }),
    'maintenance.close-months': async (_, { signal }) => ({
      ...(await services.months.closeDueMonths(signal)),
    }),
    'maintenance.roll-up-days': async () => {
      await services.writeOffs.rollUp();
      return { days: await services.usageDays.rollUp() };
    },
    'maintenance.verify-ledger': async (_, { log }) => {
      const { violations, ...counts } = await services.nightlyProof.prove();
      return { ...counts, violations: reported(violations, log) };
    },
    'maintenance.verify-new-entries': async (_, { log }) => {
      const violations = reported((await services.verifier.verifyIncrement()).violations, log);
      // what is sealed is also kept outside of the database
      const roots = await services.bookRoots?.writeDue();
      return { violations, roots: roots ?? 0 };
    },
  } satisfies Partial<Processors>;
}

function reported(violations: readonly Violation[], log: Logger): number {
  if (violations.length > 0) {
    log.error({ violations }, 'the ledger violates its invariants');
  }
  return violations.length;
}

/** Chores of accounts: payments whose news did not come, keys and days that are over, alerts that are due. */
function accountChores(services: WorkerServices) {
  return {
    'maintenance.follow-payments': async () => ({
      payments: await services.payments.sweep(PAYMENTS_PER_RUN),
    }),
    // fees, dates and payouts
    'maintenance.follow-payment-moves': async () => ({ moves: await services.payments.followMoves() }),
    'maintenance.expire-idempotency-keys': async () => ({ keys: await services.idempotencyKeys.expire() }),
    // those that were deleted or expired long ago and never used
    'maintenance.forget-keys': async (_, { signal }) => ({ keys: await services.keys.forget(signal) }),
    'maintenance.tell-alerts': async (_, { signal }) => ({ accounts: await services.alerts.tell(signal) }),
  } satisfies Partial<Processors>;
}

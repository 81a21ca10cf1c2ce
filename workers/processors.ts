import type { Producer } from '../queues/producer.ts';
import { poolOf } from '../queues/queue-name.ts';
import type { Violation } from '../src/ledger/ledger.types.ts';
import { publicId } from '../src/lib/ids.ts';
import type { Logger } from '../src/lib/logger.ts';
import type { AttemptOutcome } from '../src/tasks/generate.types.ts';
import { type Processor, type Processors, TaskFailedError } from './run-job.ts';
import type { WorkerServices } from './worker-services.ts';

const PAYMENTS_PER_RUN = 200;

/** Creates the processors of all jobs. Each calls one service, which does all the work, and returns the outcome. */
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

/** Runs a task on its engine. Pauses a pool that is busy for several accounts or cannot write. */
function generateTask(
  services: Pick<WorkerServices, 'generate'>,
  producer: Pick<Producer, 'pauseFor'>,
): Processor<'tasks.generate'> {
  return async ({ taskId }, { queue, signal, log }) => {
    const { ranInstead, ...outcome } = await services.generate.run(taskId, signal, poolOf(queue));
    const { pausePoolMs } = outcome;
    if (pausePoolMs !== undefined) {
      log.warn({ pausePoolMs }, 'the pool is paused');
      // Without Redis no worker takes jobs anyway.
      await producer.pauseFor(queue, pausePoolMs).catch(() => undefined);
    }
    if (ranInstead === undefined) {
      return outcomeOf(outcome);
    }
    const { result, code } = outcome;
    log.info(
      { ranInstead: publicId('generation', ranInstead), outcome: result, ...(code && { code }) },
      'ran another task instead: its model is already loaded here',
    );
    // the outcome of that task says nothing about the one that the job names
    return result;
  };
}

/** Returns a job's outcome from that of its task. Throws TaskFailedError when the task failed for good. */
function outcomeOf({ result, code = 'internal_error' }: AttemptOutcome): string {
  if (result === 'failed') {
    throw new TaskFailedError(code);
  }
  return result;
}

/** Chores for tasks: repair after dead workers, moves of tasks that wait in vain, deletion after retention. */
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

/** Chores for the books. A proof that finds a violation logs an error, which alerts a human. */
function ledgerChores(services: WorkerServices) {
  return {
    'maintenance.reap-holds': async () => ({ holds: await services.reaper.reap() }),
    'maintenance.make-partitions': async () => ({ partitions: await services.months.createPartitions() }),
    'maintenance.close-months': async (_, { signal }) => ({
      ...(await services.months.closeDueMonths(signal)),
    }),
    'maintenance.roll-up-days': async () => {
      await services.writeOffs.rollUp();
      return { hours: await services.usageDays.rollUp() };
    },
    'maintenance.verify-ledger': async (_, { log }) => {
      const { violations, ...counts } = await services.nightlyProof.prove();
      return { ...counts, violations: reported(violations, log) };
    },
    'maintenance.verify-new-entries': async (_, { log }) => {
      const violations = reported((await services.verifier.verifyIncrement()).violations, log);
      // keep sealed entries outside the database as well
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

/** Chores for accounts: payments without news, expired keys and idempotency keys, due alerts. */
function accountChores(services: WorkerServices) {
  return {
    'maintenance.follow-payments': async () => ({
      payments: await services.payments.sweep(PAYMENTS_PER_RUN),
    }),
    // fees, dates and payouts
    'maintenance.follow-payment-moves': async () => ({ moves: await services.payments.followMoves() }),
    'maintenance.expire-idempotency-keys': async () => ({ keys: await services.idempotencyKeys.expire() }),
    // those that were deleted or expired long ago and were never used
    'maintenance.forget-keys': async (_, { signal }) => ({ keys: await services.keys.forget(signal) }),
    'maintenance.tell-alerts': async (_, { signal }) => ({ accounts: await services.alerts.tell(signal) }),
  } satisfies Partial<Processors>;
}

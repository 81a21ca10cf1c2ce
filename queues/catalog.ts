import type { JobContract } from './define-job.ts';
import { deliverWebhook } from './jobs/deliver-webhook.job.ts';
import { generateTask } from './jobs/generate-task.job.ts';
import {
  closeMonths,
  expireIdempotencyKeys,
  expireMedia,
  expireTasks,
  followPaymentMoves,
  followPayments,
  forgetKeys,
  makePartitions,
  moveTasks,
  reapHolds,
  rollUpDays,
  sweepOrphans,
  sweepTasks,
  tellAlerts,
  verifyLedger,
  verifyNewEntries,
} from './jobs/maintenance.job.ts';
import { postprocessTask } from './jobs/postprocess-task.job.ts';

/** Every job there is. A name without a processor in workers/processors does not compile. */
export const JOBS = {
  'tasks.generate': generateTask,
  'tasks.postprocess': postprocessTask,
  'webhooks.deliver': deliverWebhook,
  'maintenance.sweep-tasks': sweepTasks,
  'maintenance.tell-alerts': tellAlerts,
  'maintenance.move-tasks': moveTasks,
  'maintenance.reap-holds': reapHolds,
  'maintenance.expire-media': expireMedia,
  'maintenance.expire-tasks': expireTasks,
  'maintenance.sweep-orphans': sweepOrphans,
  'maintenance.make-partitions': makePartitions,
  'maintenance.close-months': closeMonths,
  'maintenance.roll-up-days': rollUpDays,
  'maintenance.verify-new-entries': verifyNewEntries,
  'maintenance.follow-payments': followPayments,
  'maintenance.follow-payment-moves': followPaymentMoves,
  'maintenance.expire-idempotency-keys': expireIdempotencyKeys,
  'maintenance.forget-keys': forgetKeys,
  'maintenance.verify-ledger': verifyLedger,
} as const;

export type JobName = keyof typeof JOBS;

export type PayloadOf<Name extends JobName> =
  (typeof JOBS)[Name] extends JobContract<Name, infer Payload> ? Payload : never;

/** Whether a job of that name is known to this version of the code. */
export function isJobName(name: string): name is JobName {
  return Object.hasOwn(JOBS, name);
}

import { z } from 'zod';
import { defineJob, type JobContract, traceFields } from './define-job.ts';

const TASK = z.strictObject({ taskId: z.guid(), dispatch: z.int().min(1), ...traceFields });
const taskJobId = ({ taskId, dispatch }: z.infer<typeof TASK>) => `${taskId}-${dispatch}`;

/** Runs a queued task on its engine. The relay sends the job; `dispatch` gives each one its own id. */
export const generateTask = defineJob({
  name: 'tasks.generate',
  family: 'generate',
  payload: TASK,
  jobId: taskJobId,
  // Above the longest run an engine is allowed: that limit ends the run in an orderly way, this one is the safety net.
  timeoutMs: 130 * 60_000,
});

/** Turns the raw output of a generated task into its files and settles it. */
export const postprocessTask = defineJob({
  name: 'tasks.postprocess',
  family: 'postprocess',
  payload: TASK,
  jobId: taskJobId,
  timeoutMs: 15 * 60_000,
});

/** Attempts a webhook delivery once; the delivery's own table decides about the next attempt. */
export const deliverWebhook = defineJob({
  name: 'webhooks.deliver',
  family: 'webhooks',
  payload: z.strictObject({ deliveryId: z.guid(), dispatch: z.int().min(1), ...traceFields }),
  jobId: ({ deliveryId, dispatch }) => `${deliveryId}-${dispatch}`,
  timeoutMs: 30_000,
});

const NO_IDS = z.strictObject({});

/** A periodic chore. A scheduler creates its jobs and names each after the time it is due. */
function defineChore<const Name extends string>(name: Name, timeoutMs: number) {
  return defineJob({
    name,
    family: 'maintenance',
    payload: NO_IDS,
    jobId: () => `${name}-manual`,
    timeoutMs,
    keepCompleted: { ageSeconds: 600, count: 20 },
    keepFailed: { ageSeconds: 86_400, count: 100 },
  });
}

/** Every job. A name without a processor in workers/processors does not compile. */
export const JOBS = {
  'tasks.generate': generateTask,
  'tasks.postprocess': postprocessTask,
  'webhooks.deliver': deliverWebhook,
  /** Expired leases, passed deadlines, unfinished cancels. */
  'maintenance.sweep-tasks': defineChore('maintenance.sweep-tasks', 60_000),
  /** Alerts about low credits and keys near their limit. */
  'maintenance.tell-alerts': defineChore('maintenance.tell-alerts', 60_000),
  /** Tasks that another route of their model can serve. */
  'maintenance.move-tasks': defineChore('maintenance.move-tasks', 60_000),
  /** Holds of dead processes. */
  'maintenance.reap-holds': defineChore('maintenance.reap-holds', 60_000),
  /** Media past its retention. */
  'maintenance.expire-media': defineChore('maintenance.expire-media', 10 * 60_000),
  /** Task rows, webhook logs and worker registrations past their retention. */
  'maintenance.expire-tasks': defineChore('maintenance.expire-tasks', 10 * 60_000),
  /** Files that no task lists. */
  'maintenance.sweep-orphans': defineChore('maintenance.sweep-orphans', 10 * 60_000),
  /** The partitions of the months ahead. */
  'maintenance.make-partitions': defineChore('maintenance.make-partitions', 60_000),
  /** Statements of months that have ended. */
  'maintenance.close-months': defineChore('maintenance.close-months', 55 * 60_000),
  /** Usage of past hours and days, summed for the reports; write-offs, for the gauges. */
  'maintenance.roll-up-days': defineChore('maintenance.roll-up-days', 10 * 60_000),
  /** What was booked since each account was last proven. */
  'maintenance.verify-new-entries': defineChore('maintenance.verify-new-entries', 5 * 60_000),
  /** Waiting payment events, checkout sessions without news. */
  'maintenance.follow-payments': defineChore('maintenance.follow-payments', 5 * 60_000),
  /** Fees, dates and payouts of payments, read from their provider. */
  'maintenance.follow-payment-moves': defineChore('maintenance.follow-payment-moves', 10 * 60_000),
  /** Idempotency keys older than a day. */
  'maintenance.expire-idempotency-keys': defineChore('maintenance.expire-idempotency-keys', 60_000),
  /** Keys deleted or expired long ago. */
  'maintenance.forget-keys': defineChore('maintenance.forget-keys', 10 * 60_000),
  /** The nightly proof: what the ledger booked in a day, its current state, and part of the closed months. */
  'maintenance.verify-ledger': defineChore('maintenance.verify-ledger', 30 * 60_000),
} as const;

export type JobName = keyof typeof JOBS;

export type PayloadOf<Name extends JobName> =
  (typeof JOBS)[Name] extends JobContract<Name, infer Payload> ? Payload : never;

/** Returns whether this version of the code knows a job of that name. */
export function isJobName(name: string): name is JobName {
  return Object.hasOwn(JOBS, name);
}

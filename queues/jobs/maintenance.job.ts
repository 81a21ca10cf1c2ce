import { z } from 'zod';
import { defineJob } from '../define-job.ts';

const NO_IDS = z.strictObject({});

/** A periodic chore. Its jobs come from a scheduler, which names each of them after the time it is due. */
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

/** Lapsed leases, passed deadlines, unfinished cancels. */
export const sweepTasks = defineChore('maintenance.sweep-tasks', 60_000);
/** Credits that run low, keys near their limit. */
export const tellAlerts = defineChore('maintenance.tell-alerts', 60_000);
/** Tasks that another route of their model can serve. */
export const moveTasks = defineChore('maintenance.move-tasks', 60_000);
/** Holds of dead processes. */
export const reapHolds = defineChore('maintenance.reap-holds', 60_000);
/** Media past its retention. */
export const expireMedia = defineChore('maintenance.expire-media', 10 * 60_000);
/** Files that no task lists. */
export const sweepOrphans = defineChore('maintenance.sweep-orphans', 10 * 60_000);
/** Task rows, webhook logs and worker registrations past their retention. */
export const expireTasks = defineChore('maintenance.expire-tasks', 10 * 60_000);
/** The partitions of the months ahead. */
export const makePartitions = defineChore('maintenance.make-partitions', 60_000);
/** Statements of the months that are over. */
export const closeMonths = defineChore('maintenance.close-months', 55 * 60_000);
/** Days of usage that are over, summed for the reports; write-offs, for the gauges. */
export const rollUpDays = defineChore('maintenance.roll-up-days', 10 * 60_000);
/** What was booked since each account was last proven. */
export const verifyNewEntries = defineChore('maintenance.verify-new-entries', 5 * 60_000);
/** Payment events that wait, checkout sessions without news. */
export const followPayments = defineChore('maintenance.follow-payments', 5 * 60_000);
/** What payments moved at their provider, and the payouts they are in. */
export const followPaymentMoves = defineChore('maintenance.follow-payment-moves', 10 * 60_000);
/** Idempotency keys older than a day. */
export const expireIdempotencyKeys = defineChore('maintenance.expire-idempotency-keys', 60_000);
/** Keys deleted or expired long ago. */
export const forgetKeys = defineChore('maintenance.forget-keys', 10 * 60_000);
/** What the ledger booked in a day, what it is now, and a part of the months that are closed. */
export const verifyLedger = defineChore('maintenance.verify-ledger', 30 * 60_000);

import { UNKNOWN_OBJECT } from '../billing/payment-inbox.store.ts';
import type { SqlStatement } from '../store/statement.ts';

/** $1: task. → the trace of the request that submitted it, while its parameters are kept */
export const taskTraceparent: SqlStatement = {
  name: 'telemetry_task_traceparent',
  text: `SELECT parameters->>'traceparent' AS traceparent FROM tasks WHERE id = $1`,
};

/** Open holds: count, amount and age of the oldest. */
export const openHolds: SqlStatement = {
  name: 'telemetry_open_holds',
  text: `SELECT CASE WHEN is_task THEN 'task' ELSE 'call' END AS kind, count(*)::integer AS holds, sum(amount) AS amount,
                extract(epoch FROM ledger_now() - min(created_at))::double precision AS oldest_seconds
           FROM holds GROUP BY 1`,
};

/** Write-offs by reason: the stored totals plus the rows not yet included in them. */
export const writeOffTotals: SqlStatement = {
  name: 'telemetry_write_offs',
  text: `SELECT reason, sum(amount) AS amount
           FROM (SELECT reason, amount FROM write_off_totals
                 UNION ALL
                 SELECT reason, amount FROM write_offs
                  WHERE at >= coalesce((SELECT max(until) FROM write_off_totals), '-infinity')) known
          GROUP BY 1`,
};

/** Tasks that have not ended, and how long the oldest of them have waited: for a worker, and for the relay. */
export const liveTasks: SqlStatement = {
  name: 'telemetry_live_tasks',
  text: `SELECT pool, state, count(*)::integer AS tasks,
                coalesce(extract(epoch FROM statement_timestamp() - min(created_at)), 0)::double precision AS oldest_seconds,
                coalesce(extract(epoch FROM statement_timestamp() - min(not_before) FILTER
                  (WHERE dispatched_at IS NULL AND not_before <= statement_timestamp())), 0)::double precision AS relay_seconds
           FROM tasks WHERE completed_at IS NULL GROUP BY 1, 2`,
};

export const pendingDeliveries: SqlStatement = {
  name: 'telemetry_pending_deliveries',
  text: `SELECT count(*)::integer AS deliveries,
                greatest(coalesce(extract(epoch FROM statement_timestamp() - min(next_try_at)), 0), 0)::double precision
                  AS overdue_seconds
           FROM webhook_deliveries WHERE state = 'pending'`,
};

/** Without events about objects that are not ours: the provider's account may sell other things, too. */
export const pendingPaymentEvents: SqlStatement = {
  name: 'telemetry_pending_payment_events',
  text: `SELECT count(*)::integer AS events,
                coalesce(extract(epoch FROM statement_timestamp() - min(received_at)), 0)::double precision AS oldest_seconds
           FROM webhook_inbox WHERE processed_at IS NULL AND error IS DISTINCT FROM '${UNKNOWN_OBJECT}'`,
};

/** What payment providers took back beyond what was paid. */
export const unbookedReversals: SqlStatement = {
  name: 'telemetry_unbooked_reversals',
  text: 'SELECT coalesce(sum(unbooked), 0)::text AS amount FROM payment_standings WHERE unbooked > 0',
};

/** $1: workers that have been silent for this many ms do not count. */
export const workerSlots: SqlStatement = {
  name: 'telemetry_worker_slots',
  text: `SELECT queue, sum(slots)::integer AS slots FROM worker_slots
          WHERE seen_at > statement_timestamp() - $1 * interval '1 ms' GROUP BY 1`,
};

/** Age of the newest backup; NULL if none was ever recorded. */
export const newestBackup: SqlStatement = {
  name: 'telemetry_newest_backup',
  text: 'SELECT extract(epoch FROM statement_timestamp() - max(at))::double precision AS age_seconds FROM backups',
};

/**
 * Accounts that existed last month and whose statement for it is not final. Months are closed in order, so this also covers accounts with
 * an older month still open.
 */
export const statementsDue: SqlStatement = {
  name: 'telemetry_statements_due',
  text: `
    WITH month AS MATERIALIZED (SELECT date_trunc('month', ledger_now(), 'UTC') AS start)
    SELECT greatest((SELECT count(*) FROM accounts WHERE created_at < m.start)
             - (SELECT count(*) FROM invoices
                 WHERE period_start = (m.start AT TIME ZONE 'UTC' - interval '1 month') AT TIME ZONE 'UTC'
                   AND status IN ('paid', 'uncollectible')), 0)::integer AS accounts
      FROM month m`,
};

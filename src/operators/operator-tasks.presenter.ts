import { CURRENCY } from '../http/input/wire-shapes.ts';
import { requestIdOfCall } from '../ledger/stored-call.ts';
import { publicId } from '../lib/ids.ts';
import { formatUsd, nanoUsd } from '../lib/money.ts';
import type { OperatorTaskRow, TaskEventRow } from './operator-tasks.read-model.ts';
import type { OperatorTaskDetailsJson, OperatorTaskJson } from './operator-tasks.schema.ts';
import { RETRIED_AS, RETRY_OF } from './task-retry.service.ts';

/** Presents a task to operators. The order itself is not shown: it belongs to the customer. */
export function presentOperatorTask(row: OperatorTaskRow): OperatorTaskJson {
  return {
    id: publicId('generation', row.id),
    account_id: publicId('account', row.account_id),
    api_key_hash: row.api_key_hash,
    request_id: row.call_id && requestIdOfCall(row.call_id, row.request_id),
    endpoint: row.endpoint,
    model: row.model,
    kind: row.kind,
    pool: row.pool,
    state: row.state,
    seed: row.seed,
    progress_percent: Math.round(row.progress * 100),
    attempts: row.attempt,
    generation_runs: row.generation_runs,
    failures: row.failures,
    interruptions: row.interruptions,
    dispatches: row.dispatches,
    worker: row.worker,
    engine: row.engine,
    engine_reference: row.engine_reference,
    price: formatUsd(nanoUsd(row.charge)),
    held: formatUsd(nanoUsd(row.held)),
    charged: formatUsd(nanoUsd(row.charged)),
    provider_cost: usdOf(row.provider_cost),
    currency: CURRENCY,
    error: row.error_code === null ? null : { code: row.error_code, message: row.error_message ?? '' },
    retryable: row.state === 'failed' && row.has_parameters,
    queue_wait_ms: between(row.created_at, row.started_at),
    run_ms: between(row.started_at, row.completed_at),
    created_at: row.created_at.toISOString(),
    started_at: timeOf(row.started_at),
    completed_at: timeOf(row.completed_at),
    deadline_at: row.deadline_at.toISOString(),
    not_before: row.not_before.toISOString(),
    dispatched_at: timeOf(row.dispatched_at),
    lease_until: timeOf(row.lease_until),
    cancel_requested_at: timeOf(row.cancel_requested_at),
  };
}

/** Presents a task with its history and related tasks. */
export function presentOperatorTaskDetails(
  row: OperatorTaskRow,
  history: readonly TaskEventRow[],
): OperatorTaskDetailsJson {
  return {
    ...presentOperatorTask(row),
    runs: row.runs.map(({ provider, model, outcome, latencyMs, said = null, cost = null }) => ({
      engine: provider,
      model,
      outcome,
      latency_ms: latencyMs,
      cost: usdOf(cost),
      said,
    })),
    history: history.map(({ at, state, attempt, detail, said, cost }) => ({
      at: at.toISOString(),
      state,
      attempt,
      detail,
      said,
      cost: usdOf(cost),
    })),
    retry_of: linkedTask(history, RETRY_OF),
    retried_as: linkedTask(history, RETRIED_AS),
  };
}

function linkedTask(history: readonly TaskEventRow[], relation: string): string | null {
  const event = history.find(({ detail }) => detail?.startsWith(relation));
  return event?.detail?.slice(relation.length) ?? null;
}

function usdOf(amount: string | null): string | null {
  return amount === null ? null : formatUsd(nanoUsd(amount));
}

function between(from: Date | null, to: Date | null): number | null {
  return from && to ? Math.max(0, to.getTime() - from.getTime()) : null;
}

function timeOf(time: Date | null): string | null {
  return time?.toISOString() ?? null;
}

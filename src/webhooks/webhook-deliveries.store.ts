import type pg from 'pg';
import type { RelaySource } from '../../queues/relay-feed.ts';
import type { AuditedAct } from '../ledger/ledger.types.ts';
import { requestIdOfCall } from '../ledger/stored-call.ts';
import type { Cells } from '../store/cells.ts';
import { jsonParameter, run } from '../store/statement.ts';
import {
  claimDelivery,
  listAlertDeliveries,
  listDeliveries,
  listTries,
  putBackDeliveries,
  recordTry,
  redeliver,
  takeDeliveries,
} from './webhook-deliveries.sql.ts';

/** The subject of an event: a task, whose result is read at each try, or the facts recorded when the event happened. */
export type EventSubject = { readonly taskId: string } | { readonly taskId: null; readonly facts: unknown };

/** A delivery claimed by a worker. */
export interface ClaimedDelivery {
  readonly id: string;
  readonly accountId: string;
  readonly event: string;
  readonly subject: EventSubject;
  readonly url: string;
  /** The number of this try, from 1: the fence of its record. */
  readonly tries: number;
}

export interface DeliveryTry {
  readonly try: number;
  readonly at: Date;
  readonly status: number | null;
  readonly error: string | null;
  readonly durationMs: number;
}

export interface DeliveryView {
  readonly id: string;
  /** Null for events of the account itself. */
  readonly taskId: string | null;
  readonly event: string;
  readonly url: string;
  readonly state: 'pending' | 'delivered' | 'failed';
  readonly createdAt: Date;
  readonly deliveredAt: Date | null;
  readonly nextTryAt: Date;
  readonly log: readonly DeliveryTry[];
}

/** Maximum tries in flight per account. */
const ACCOUNT_IN_FLIGHT_MAX = 8;
const ALERTS_LISTED_MAX = 100;

interface DueRow {
  readonly id: string;
  readonly dispatch: string;
  readonly request_id: string | null;
  /** The generation that the event reports; null for other events. */
  readonly call_id: string | null;
}

/** Webhook deliveries: outbox, state and log. */
export class WebhookDeliveriesStore {
  readonly #cells: Cells;

  constructor(cells: Cells) {
    this.#cells = cells;
  }

  /** Returns the source of due deliveries, for the relay. */
  due(): RelaySource {
    return {
      take: async (limit, lostAfterMs) => {
        const values = [limit, lostAfterMs, ACCOUNT_IN_FLIGHT_MAX];
        const rows = await run<DueRow>(this.#cells.sole.money, takeDeliveries, values);
        return rows.map(({ id, dispatch, request_id: stored, call_id: call }) => ({
          id,
          dispatch: Number(dispatch),
          ...(call !== null && { requestId: requestIdOfCall(call, stored) }),
        }));
      },
      putBack: async (tickets) => {
        await run(this.#cells.sole.money, putBackDeliveries, [tickets.map((ticket) => ticket.id)]);
      },
    };
  }

  /** Starts a try. Undefined when the delivery is done, given up, not due or already in progress. */
  async claim(deliveryId: string, leaseMs: number): Promise<ClaimedDelivery | undefined> {
    const [row] = await run<ClaimedRow>(this.#cells.ofOwned(deliveryId).money, claimDelivery, [
      deliveryId,
      leaseMs,
    ]);
    return (
      row && {
        id: row.id,
        accountId: row.account_id,
        event: row.event,
        subject: row.task_id === null ? { taskId: null, facts: row.facts } : { taskId: row.task_id },
        url: row.url,
        tries: row.tries,
      }
    );
  }

  /** Logs a try and its consequence: the next one in `nextTryMs`, or the end. */
  async recordTry(
    delivery: ClaimedDelivery,
    result: { status: number | null; error: string | null; durationMs: number },
    state: DeliveryView['state'],
    nextTryMs: number,
  ): Promise<void> {
    const { status, error, durationMs } = result;
    const values = [delivery.id, delivery.tries, state, status, error, nextTryMs, durationMs];
    await run(this.#cells.of(delivery.accountId).money, recordTry, values);
  }

  /** Schedules one more try, now. Returns false when the account has no such delivery. `act` is the operator's, if one does it. */
  async redeliver(deliveryId: string, accountId: string, act?: AuditedAct): Promise<boolean> {
    const values = [deliveryId, accountId, jsonParameter(act ?? {})];
    return (await run(this.#cells.of(accountId).money, redeliver, values)).length === 1;
  }

  /** Returns the deliveries of a task with their logs. */
  async list(accountId: string, taskId: string): Promise<DeliveryView[]> {
    const { money } = this.#cells.of(accountId);
    return await withTries(money, await run<DeliveryRow>(money, listDeliveries, [accountId, taskId]));
  }

  /** Returns the latest deliveries of the account's own events with their logs, newest first. */
  async listAlerts(accountId: string): Promise<DeliveryView[]> {
    const values = [accountId, ALERTS_LISTED_MAX];
    const { money } = this.#cells.of(accountId);
    return await withTries(money, await run<DeliveryRow>(money, listAlertDeliveries, values));
  }
}

async function withTries(pool: pg.Pool, rows: readonly DeliveryRow[]): Promise<DeliveryView[]> {
  const tries = await run<TryRow>(pool, listTries, [rows.map((row) => row.id)]);
  return rows.map((row) => ({
    id: row.id,
    taskId: row.task_id,
    event: row.event,
    url: row.url,
    state: row.state,
    createdAt: row.created_at,
    deliveredAt: row.delivered_at,
    nextTryAt: row.next_try_at,
    log: tries
      .filter((entry) => entry.delivery_id === row.id)
      .map((entry) => ({
        try: entry.try,
        at: entry.at,
        status: entry.status,
        error: entry.error,
        durationMs: entry.duration_ms,
      })),
  }));
}

interface ClaimedRow {
  id: string;
  account_id: string;
  task_id: string | null;
  event: string;
  facts: unknown;
  url: string;
  tries: number;
}

interface DeliveryRow {
  id: string;
  task_id: string | null;
  event: string;
  url: string;
  state: DeliveryView['state'];
  created_at: Date;
  delivered_at: Date | null;
  next_try_at: Date;
}

interface TryRow {
  delivery_id: string;
  try: number;
  at: Date;
  status: number | null;
  error: string | null;
  duration_ms: number;
}

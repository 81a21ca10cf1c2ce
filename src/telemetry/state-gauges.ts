import { Gauge, type Registry } from 'prom-client';
import { cachedReading } from '../lib/cached-reading.ts';
import type { InstallationState, StateReadModel } from './state.read-model.ts';

/** Limits of the database reading, in ms: scrapes of ten replicas by two Prometheus servers must not load the database. */
const LIMITS = { freshMs: 10_000, timeoutMs: 2_000 };
const NANO = 1e9;

type Fill = (gauge: Gauge, state: InstallationState) => void;
type AddGauge = (name: string, help: string, labelNames: string[], fill: Fill) => void;

/**
 * Registers the gauges of the installation's state in the database, the same from every API process. While it cannot be read they have no
 * value, so that nobody sees a stale one, and `tollgate_state_readable` is 0.
 */
export function registerStateGauges(registry: Registry, readModel: Pick<StateReadModel, 'read'>): void {
  const read = cachedReading(() => readModel.read(), LIMITS);
  const add: AddGauge = (name, help, labelNames, fill) => {
    new Gauge({
      name,
      help,
      labelNames,
      registers: [registry],
      async collect() {
        const state = await read();
        this.reset();
        if (state) {
          fill(this, state);
        } else if (labelNames.length === 0) {
          this.remove();
        }
      },
    });
  };
  addMoneyGauges(add);
  addTaskGauges(add);
  addDeliveryGauges(add);
  new Gauge({
    name: 'tollgate_state_readable',
    help: 'Whether the gauges of the installation could be read from the database within two seconds',
    registers: [registry],
    async collect() {
      this.set((await read()) === undefined ? 0 : 1);
    },
  });
}

function addMoneyGauges(add: AddGauge): void {
  add('tollgate_holds', 'Open holds', ['kind'], (own, { holds }) => {
    for (const row of holds) {
      own.set({ kind: row.kind }, row.holds);
    }
  });
  add('tollgate_held_usd', 'Money held by running calls and tasks', ['kind'], (own, { holds }) => {
    for (const row of holds) {
      own.set({ kind: row.kind }, Number(row.amount) / NANO);
    }
  });
  add('tollgate_oldest_hold_age_seconds', 'Age of the oldest open hold', ['kind'], (own, { holds }) => {
    for (const row of holds) {
      own.set({ kind: row.kind }, row.oldest_seconds);
    }
  });
  add('tollgate_write_offs_usd', 'Total written off', ['reason'], (own, { writeOffs }) => {
    for (const row of writeOffs) {
      own.set({ reason: row.reason }, Number(row.amount) / NANO);
    }
  });
  add(
    'tollgate_payment_reversals_unbooked_usd',
    'Taken back by payment providers beyond what was paid, and therefore booked to no account',
    [],
    (own, { unbookedReversals }) => own.set(Number(unbookedReversals.amount) / NANO),
  );
  add(
    'tollgate_statements_due',
    'Accounts whose statement of last month is not final',
    [],
    (own, { statementsDue }) => own.set(statementsDue.accounts),
  );
  add('tollgate_backup_age_seconds', 'Age of the newest backup of the database', [], (own, { backup }) => {
    if (backup.age_seconds === null) {
      own.remove();
    } else {
      own.set(backup.age_seconds);
    }
  });
}

function addTaskGauges(add: AddGauge): void {
  add('tollgate_tasks', 'Tasks that have not ended', ['pool', 'state'], (own, { tasks }) => {
    for (const { pool, state, tasks: count } of tasks) {
      own.set({ pool, state }, count);
    }
  });
  add(
    'tollgate_oldest_waiting_task_seconds',
    'Age of the oldest task waiting for a worker',
    ['pool', 'state'],
    (own, { tasks }) => {
      for (const { pool, state, oldest_seconds } of tasks) {
        if (state === 'queued' || state === 'generated') {
          own.set({ pool, state }, oldest_seconds);
        }
      }
    },
  );
  add(
    'tollgate_relay_lag_seconds',
    'Longest wait of a task that has not been put into its queue: the queue is full, or the relay is stalled',
    ['pool', 'state'],
    (own, { tasks }) => {
      for (const { pool, state, relay_seconds } of tasks) {
        if (state === 'queued' || state === 'generated') {
          own.set({ pool, state }, relay_seconds);
        }
      }
    },
  );
  add(
    'tollgate_unserved_tasks',
    'Tasks waiting for an engine of a pool that no live worker serves',
    ['pool'],
    (own, { tasks, slots }) => {
      const served = new Set(slots.map(({ queue }) => queue));
      for (const { pool, tasks: count } of tasks.filter(({ state }) => state === 'queued')) {
        own.set({ pool }, served.has(`generate-${pool}`) ? 0 : count);
      }
    },
  );
  add('tollgate_worker_slots', 'Jobs that live workers can run at once', ['queue'], (own, { slots }) => {
    for (const row of slots) {
      own.set({ queue: row.queue }, row.slots);
    }
  });
}

function addDeliveryGauges(add: AddGauge): void {
  add('tollgate_webhooks_pending', 'Webhooks waiting for an attempt', [], (own, { deliveries }) =>
    own.set(deliveries.deliveries),
  );
  add('tollgate_webhook_overdue_seconds', 'Delay of the most overdue attempt', [], (own, { deliveries }) =>
    own.set(deliveries.overdue_seconds),
  );
  add('tollgate_payment_events_pending', 'Payment events not booked yet', [], (own, { paymentEvents }) =>
    own.set(paymentEvents.events),
  );
  add(
    'tollgate_oldest_payment_event_seconds',
    'Age of the oldest payment event not booked yet',
    [],
    (own, { paymentEvents }) => own.set(paymentEvents.oldest_seconds),
  );
}

import type { Cells } from '../store/cells.ts';
import { readRows } from '../store/report.ts';
import type { SqlStatement } from '../store/statement.ts';
import { WORKER_SILENT_MS } from '../tasks/task-dispatch.store.ts';
import {
  liveTasks,
  newestBackup,
  openHolds,
  pendingDeliveries,
  pendingPaymentEvents,
  statementsDue,
  taskTraceparent,
  unbookedReversals,
  workerSlots,
  writeOffTotals,
} from './state.sql.ts';

/** The state of the whole installation, from the database. Amounts are nano-USD as decimal text, ages in seconds. */
export interface InstallationState {
  readonly holds: readonly {
    readonly kind: 'call' | 'task';
    readonly holds: number;
    readonly amount: string;
    readonly oldest_seconds: number;
  }[];
  readonly writeOffs: readonly { readonly reason: string; readonly amount: string }[];
  readonly tasks: readonly {
    readonly pool: string;
    readonly state: string;
    readonly tasks: number;
    readonly oldest_seconds: number;
    readonly relay_seconds: number;
  }[];
  readonly deliveries: { readonly deliveries: number; readonly overdue_seconds: number };
  readonly paymentEvents: { readonly events: number; readonly oldest_seconds: number };
  readonly unbookedReversals: { readonly amount: string };
  readonly statementsDue: { readonly accounts: number };
  /** `age_seconds` is null if no backup was ever recorded. */
  readonly backup: { readonly age_seconds: number | null };
  readonly slots: readonly { readonly queue: string; readonly slots: number }[];
}

/**
 * Reads the state of an installation for gauges: holds, write-offs, statements, tasks, deliveries. Rejects while the database is
 * unavailable.
 */
export class StateReadModel {
  readonly #cells: Cells;

  constructor(cells: Cells) {
    this.#cells = cells;
  }

  async read(): Promise<InstallationState> {
    const rows = <Row extends object>(statement: SqlStatement) =>
      readRows<Row>(this.#cells.sole.sequelize, statement, []);
    const homeRows = <Row extends object>(statement: SqlStatement, values: readonly unknown[] = []) =>
      readRows<Row>(this.#cells.home.sequelize, statement, values);
    const [holds, writeOffs, tasks, slots, [deliveries], [paymentEvents], [unbooked], [due], [backup]] =
      await Promise.all([
        rows<InstallationState['holds'][number]>(openHolds),
        rows<InstallationState['writeOffs'][number]>(writeOffTotals),
        rows<InstallationState['tasks'][number]>(liveTasks),
        homeRows<InstallationState['slots'][number]>(workerSlots, [WORKER_SILENT_MS]),
        rows<InstallationState['deliveries']>(pendingDeliveries),
        homeRows<InstallationState['paymentEvents']>(pendingPaymentEvents),
        rows<InstallationState['unbookedReversals']>(unbookedReversals),
        rows<InstallationState['statementsDue']>(statementsDue),
        homeRows<InstallationState['backup']>(newestBackup),
      ]);
    return {
      holds,
      writeOffs,
      tasks,
      slots,
      deliveries: deliveries ?? { deliveries: 0, overdue_seconds: 0 },
      unbookedReversals: unbooked ?? { amount: '0' },
      statementsDue: due ?? { accounts: 0 },
      backup: backup ?? { age_seconds: null },
      paymentEvents: paymentEvents ?? { events: 0, oldest_seconds: 0 },
    };
  }

  /** Returns the trace that a task belongs to; undefined if its request was not traced. */
  async traceparentOf(taskId: string): Promise<string | undefined> {
    const [row] = await readRows<{ traceparent: string | null }>(
      this.#cells.ofOwned(taskId).sequelize,
      taskTraceparent,
      [taskId],
    );
    return row?.traceparent ?? undefined;
  }
}

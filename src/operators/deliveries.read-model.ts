import type { Cells } from '../store/cells.ts';
import { readRows } from '../store/report.ts';
import { operatorDeliveriesPage, operatorDelivery } from './deliveries.sql.ts';

export type DeliveryState = 'pending' | 'delivered' | 'failed';

/** A webhook delivery of any account. */
export interface DeliveryRow {
  readonly id: string;
  readonly account_id: string;
  readonly task_id: string | null;
  readonly event: string;
  readonly url: string;
  readonly state: DeliveryState;
  readonly tries: number;
  readonly next_try_at: Date;
  readonly last_status: number | null;
  readonly last_error: string | null;
  readonly created_at: Date;
  readonly delivered_at: Date | null;
}

export interface DeliveryFilter {
  readonly accountId: string | null;
  readonly state: DeliveryState | null;
  readonly taskId: string | null;
  /** Time and id of the last row of the previous page. */
  readonly after: readonly [at: string, id: string] | null;
  readonly limit: number;
}

export class DeliveriesReadModel {
  readonly #cells: Cells;

  constructor(cells: Cells) {
    this.#cells = cells;
  }

  async find(id: string): Promise<DeliveryRow | undefined> {
    return (await readRows<DeliveryRow>(this.#cells.ofOwned(id).sequelize, operatorDelivery, [id]))[0];
  }

  /** Lists deliveries, newest first. */
  list({ accountId, state, taskId, after, limit }: DeliveryFilter): Promise<DeliveryRow[]> {
    const [at, id] = after ?? [null, null];
    return readRows<DeliveryRow>(this.#cells.sole.sequelize, operatorDeliveriesPage, [
      accountId,
      state,
      taskId,
      at,
      id,
      limit,
    ]);
  }
}

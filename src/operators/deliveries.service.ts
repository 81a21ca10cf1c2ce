import { decodeCursor, UUID_PART } from '../http/answers/cursor.ts';
import { cutPage, type Page } from '../http/answers/page.ts';
import { AppError } from '../lib/errors.ts';
import { parsePublicId } from '../lib/ids.ts';
import type { WebhookDeliveriesStore } from '../webhooks/webhook-deliveries.store.ts';
import { accountUuid } from './accounts.service.ts';
import type { DeliveriesReadModel, DeliveryRow } from './deliveries.read-model.ts';
import type { ListDeliveriesQuery } from './deliveries.schema.ts';
import { audited, type OperatorContext } from './operator-access.ts';
import { taskUuid } from './operator-tasks.service.ts';

const TIME_PART = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** Webhook deliveries of every account. */
export class DeliveriesService {
  readonly #readModel: DeliveriesReadModel;
  readonly #deliveries: Pick<WebhookDeliveriesStore, 'redeliver'>;

  constructor(readModel: DeliveriesReadModel, deliveries: Pick<WebhookDeliveriesStore, 'redeliver'>) {
    this.#readModel = readModel;
    this.#deliveries = deliveries;
  }

  /** Lists deliveries, newest first. Throws AppError account_not_found, task_not_found, invalid_cursor. */
  async list(query: ListDeliveriesQuery): Promise<Page<DeliveryRow>> {
    const { cursor } = query;
    const [at, id] = cursor === undefined ? [] : decodeCursor(cursor, [TIME_PART, UUID_PART]);
    const rows = await this.#readModel.list({
      accountId: query.account_id === undefined ? null : accountUuid(query.account_id),
      state: query.state ?? null,
      taskId: query.task_id === undefined ? null : taskUuid(query.task_id),
      after: at === undefined || id === undefined ? null : [at, id],
      limit: query.limit + 1,
    });
    return cutPage(rows, query.limit, (row) => [row.created_at.toISOString(), row.id]);
  }

  /** Returns a delivery. Throws AppError delivery_not_found. */
  async get(id: string): Promise<DeliveryRow> {
    const uuid = parsePublicId('webhookDelivery', id);
    const row = uuid === undefined ? undefined : await this.#readModel.find(uuid);
    if (!row) {
      throw new AppError('delivery_not_found', 'There is no such webhook delivery.');
    }
    return row;
  }

  /** Retries a delivery now, even one that was delivered or has failed. Throws AppError delivery_not_found. */
  async redeliver(id: string, act: OperatorContext): Promise<DeliveryRow> {
    const { id: uuid, account_id: accountId } = await this.get(id);
    await this.#deliveries.redeliver(uuid, accountId, audited(act, 'webhook.redeliver', id, {}));
    return this.get(id);
  }
}

import { publicId } from '../lib/ids.ts';
import type { DeliveryRow } from './deliveries.read-model.ts';
import type { DeliveryJson } from './deliveries.schema.ts';

/** Presents a delivery to operators. Shows only the origin of its URL: the rest may contain a token of the customer's. */
export function presentOperatorDelivery(row: DeliveryRow): DeliveryJson {
  return {
    id: publicId('webhookDelivery', row.id),
    account_id: publicId('account', row.account_id),
    task_id: row.task_id === null ? null : publicId('generation', row.task_id),
    event_type: row.event,
    url: new URL(row.url).origin,
    state: row.state,
    tries: row.tries,
    last_http_status: row.last_status,
    last_error: row.last_error,
    next_try_at: row.state === 'pending' ? row.next_try_at.toISOString() : null,
    created_at: row.created_at.toISOString(),
    delivered_at: row.delivered_at?.toISOString() ?? null,
  };
}

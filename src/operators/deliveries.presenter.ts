import { publicId } from '../lib/ids.ts';
import type { DeliveryRow } from './deliveries.read-model.ts';
import type { DeliveryJson } from './deliveries.schema.ts';

/** A delivery as an operator sees it. Of its address only the origin: the rest can hold a token of the customer's. */
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

import type { SqlStatement } from '../store/statement.ts';

const DELIVERY = `SELECT id, account_id, task_id, event, url, state, tries, next_try_at, last_status, last_error,
  created_at, delivered_at FROM webhook_deliveries`;

/**
 * $1 account or NULL, $2 state or NULL, $3 task or NULL, $4 and $5 time and id of the last row of the previous page, or NULL, $6
 * limit. Newest first.
 */
export const operatorDeliveriesPage: SqlStatement = {
  name: 'operator_deliveries_page',
  text: `${DELIVERY}
     WHERE ($1::uuid IS NULL OR account_id = $1::uuid) AND ($2::text IS NULL OR state = $2::text)
       AND ($3::uuid IS NULL OR task_id = $3::uuid)
       AND ($4::timestamptz IS NULL OR (created_at, id) < ($4::timestamptz, $5::uuid))
     ORDER BY created_at DESC, id DESC LIMIT $6`,
};

/** $1 delivery. */
export const operatorDelivery: SqlStatement = {
  name: 'operator_delivery',
  text: `${DELIVERY} WHERE id = $1::uuid`,
};

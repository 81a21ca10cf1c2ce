import { z } from 'zod';
import { pageQuery } from '../http/answers/page.ts';
import { accountId, answerOf, listOf } from '../http/input/wire-shapes.ts';

const time = z.iso.datetime();

export const deliveryParams = z.object({
  id: z.string().min(1).max(64).meta({ description: 'Id of the delivery, whd_…' }),
});

export const listDeliveriesQuery = z.strictObject({
  state: z
    .enum(['pending', 'delivered', 'failed'])
    .optional()
    .meta({ description: 'Only deliveries in this state' }),
  account_id: z.string().min(1).max(64).optional().meta({ description: 'Only deliveries of this account' }),
  task_id: z.string().min(1).max(64).optional().meta({ description: 'Only deliveries of this task' }),
  ...pageQuery,
});

export const deliveryJson = z
  .object({
    id: z.string().meta({ description: 'Id of the delivery, whd_…' }),
    account_id: accountId,
    task_id: z
      .string()
      .nullable()
      .meta({ description: 'The task whose end it reports; null for account events' }),
    event_type: z
      .string()
      .meta({ description: 'The event it reports: ASYNC_TASK_RESULT, credits.low or key.limit_near' }),
    url: z.string().meta({
      description:
        'Origin of the endpoint; the rest of the URL is not shown, as it may contain secrets of the customer',
    }),
    state: z
      .enum(['pending', 'delivered', 'failed'])
      .meta({ description: 'pending: will be tried again; failed: after seven tries, or a 410 response' }),
    tries: z.int().meta({ description: 'Number of tries so far' }),
    last_http_status: z
      .int()
      .nullable()
      .meta({ description: 'HTTP status of the last response; null if there was none' }),
    last_error: z.string().nullable().meta({ description: 'Why the last try failed; null if it succeeded' }),
    next_try_at: time.nullable().meta({ description: 'Time of the next try; null unless pending' }),
    created_at: time.meta({ description: 'When the event happened' }),
    delivered_at: time.nullable().meta({ description: 'When the endpoint accepted it; null until then' }),
  })
  .meta({ id: 'OperatorDelivery' });

export const deliveryListResponse = listOf(deliveryJson, 'Deliveries, newest first');
export const deliveryResponse = answerOf(deliveryJson, 'The current state of the delivery');

export type ListDeliveriesQuery = z.output<typeof listDeliveriesQuery>;
export type DeliveryJson = z.output<typeof deliveryJson>;

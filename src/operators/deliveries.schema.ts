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
  account_id: z.string().min(1).max(64).optional().meta({ description: 'Only those of this account' }),
  task_id: z.string().min(1).max(64).optional().meta({ description: 'Only those of this task' }),
  ...pageQuery,
});

export const deliveryJson = z
  .object({
    id: z.string().meta({ description: 'Id of the delivery, whd_…' }),
    account_id: accountId,
    task_id: z
      .string()
      .nullable()
      .meta({ description: "The task whose end it reports; null for the account's own events" }),
    event_type: z
      .string()
      .meta({ description: 'What it is about: ASYNC_TASK_RESULT, credits.low or key.limit_near' }),
    url: z
      .string()
      .meta({ description: "Origin of the endpoint; the rest of its address is the customer's own" }),
    state: z
      .enum(['pending', 'delivered', 'failed'])
      .meta({ description: 'pending: another try comes; failed: seven tries, or an answer 410' }),
    tries: z.int().meta({ description: 'How often it was sent' }),
    last_http_status: z
      .int()
      .nullable()
      .meta({ description: 'What the endpoint answered last; null: nothing' }),
    last_error: z.string().nullable().meta({ description: 'Why the last try failed; null when it did not' }),
    next_try_at: time.nullable().meta({ description: 'When it is tried again; null unless pending' }),
    created_at: time.meta({ description: 'When the task ended' }),
    delivered_at: time.nullable().meta({ description: 'When the endpoint took it; null until then' }),
  })
  .meta({ id: 'OperatorDelivery' });

export const deliveryListResponse = listOf(deliveryJson, 'Deliveries, newest first');
export const deliveryResponse = answerOf(deliveryJson, 'The delivery as it stands now');

export type ListDeliveriesQuery = z.output<typeof listDeliveriesQuery>;
export type DeliveryJson = z.output<typeof deliveryJson>;

import { z } from 'zod';
import { pageQuery } from '../http/page.ts';

const time = z.iso.datetime();

export const deliveryParams = z.object({ id: z.string().min(1).max(64) });

export const listDeliveriesQuery = z.strictObject({
  state: z.enum(['pending', 'delivered', 'failed']).optional(),
  account_id: z.string().min(1).max(64).optional(),
  task_id: z.string().min(1).max(64).optional(),
  ...pageQuery,
});

export const deliveryJson = z
  .object({
    id: z.string(),
    account_id: z.string(),
    task_id: z.string(),
    url: z.string(),
    state: z.enum(['pending', 'delivered', 'failed']),
    tries: z.int(),
    last_http_status: z.int().nullable(),
    last_error: z.string().nullable(),
    next_try_at: time.nullable(),
    created_at: time,
    delivered_at: time.nullable(),
  })
  .meta({ id: 'OperatorDelivery' });

const requestId = z.string();
export const deliveryListResponse = z.strictObject({ data: z.array(deliveryJson), request_id: requestId });
export const deliveryResponse = z.strictObject({ data: deliveryJson, request_id: requestId });

export type ListDeliveriesQuery = z.output<typeof listDeliveriesQuery>;
export type DeliveryJson = z.output<typeof deliveryJson>;

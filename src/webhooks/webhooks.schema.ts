import { z } from 'zod';

const TIME = z.iso.datetime();

/** The signing secret of an account. */
export const WEBHOOK_SECRET = z
  .object({
    secret: z.string().meta({ description: 'whsec_ + base64, as Standard Webhooks libraries take it' }),
    previous_secret_expires_at: TIME.nullable(),
  })
  .meta({ id: 'WebhookSecret' });
export const WEBHOOK_SECRET_RESPONSE = z.object({ data: WEBHOOK_SECRET });

export const DELIVERIES_QUERY = z.strictObject({ task_id: z.string().min(1).max(200) });
export const DELIVERY_PARAMS = z.object({ id: z.string().min(1).max(200) });

/** A delivery with the log of its tries. */
export const DELIVERY = z
  .object({
    id: z.string(),
    task_id: z.string(),
    url: z.string(),
    status: z.enum(['pending', 'delivered', 'failed']),
    created_at: TIME,
    delivered_at: TIME.nullable(),
    next_try_at: TIME.nullable(),
    tries: z.array(
      z.object({
        try: z.int(),
        at: TIME,
        http_status: z.int().nullable(),
        error: z.string().nullable(),
        duration_ms: z.int(),
      }),
    ),
  })
  .meta({ id: 'WebhookDelivery' });
export const DELIVERIES_RESPONSE = z.object({ data: z.array(DELIVERY) });
export const REDELIVERY_RESPONSE = z.object({
  data: z.object({ id: z.string(), status: z.literal('pending') }),
});

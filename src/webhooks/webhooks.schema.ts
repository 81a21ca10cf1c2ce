import { z } from 'zod';
import { answerOf, listOf } from '../http/input/wire-shapes.ts';

const TIME = z.iso.datetime();

/** The signing secret of an account. */
export const WEBHOOK_SECRET = z
  .object({
    secret: z.string().meta({ description: 'whsec_ + base64, as Standard Webhooks libraries take it' }),
    previous_secret_expires_at: TIME.nullable().meta({
      description: 'Until when deliveries are also signed with the previous secret; null: only with this one',
    }),
  })
  .meta({ id: 'WebhookSecret' });
export const WEBHOOK_SECRET_RESPONSE = answerOf(WEBHOOK_SECRET, 'The secret in force');

export const DELIVERIES_QUERY = z.strictObject({
  task_id: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .meta({ description: "The task that was ordered; left out: the account's own events" }),
});
export const DELIVERY_PARAMS = z.object({
  id: z.string().min(1).max(200).meta({ description: 'Id of the delivery, whd_…' }),
});

/** A delivery with the log of its tries. */
export const DELIVERY = z
  .object({
    id: z.string().meta({ description: 'Id of the delivery, whd_…' }),
    task_id: z
      .string()
      .nullable()
      .meta({ description: "The task whose end it reports; null for the account's own events" }),
    event_type: z
      .string()
      .meta({ description: 'What it is about: ASYNC_TASK_RESULT, credits.low or key.limit_near' }),
    url: z.string().meta({ description: 'Your endpoint: extra.webhook.url of the order' }),
    status: z
      .enum(['pending', 'delivered', 'failed'])
      .meta({ description: 'pending: another try comes; failed: seven tries, or an answer 410' }),
    created_at: TIME.meta({ description: 'When the task ended' }),
    delivered_at: TIME.nullable().meta({ description: 'When your endpoint took it; null until then' }),
    next_try_at: TIME.nullable().meta({ description: 'When it is tried again; null unless pending' }),
    tries: z
      .array(
        z.object({
          try: z.int().meta({ description: '1 = the first' }),
          at: TIME.meta({ description: 'When it was sent' }),
          http_status: z.int().nullable().meta({ description: 'What your endpoint answered; null: nothing' }),
          error: z.string().nullable().meta({ description: 'Why it failed; null when it did not' }),
          duration_ms: z.int().meta({ description: 'Until the answer or the failure' }),
        }),
      )
      .meta({ description: 'The result of each try, oldest first' }),
  })
  .meta({ id: 'WebhookDelivery' });
export const DELIVERIES_RESPONSE = listOf(DELIVERY, 'Deliveries of the task');
export const REDELIVERY_RESPONSE = answerOf(
  z.object({
    id: z.string().meta({ description: 'Id of the delivery, whd_…' }),
    status: z.literal('pending').meta({ description: 'It is sent again' }),
  }),
  'The delivery',
);

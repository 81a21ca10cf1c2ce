import { z } from 'zod';
import { answerOf, listOf } from '../http/input/wire-shapes.ts';

const TIME = z.iso.datetime();

/** The signing secret of an account. */
export const WEBHOOK_SECRET = z
  .object({
    secret: z
      .string()
      .meta({ description: 'whsec_ + base64, the form that Standard Webhooks libraries accept' }),
    previous_secret_expires_at: TIME.nullable().meta({
      description:
        'When deliveries stop being signed with the previous secret as well; null: only this one signs',
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
    .meta({ description: "Id of the task; omit it for the account's own events" }),
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
      .meta({ description: "The task whose result it reports; null for the account's own events" }),
    event_type: z
      .string()
      .meta({ description: 'Type of the event: ASYNC_TASK_RESULT, credits.low or key.limit_near' }),
    url: z
      .string()
      .meta({ description: 'Your endpoint: extra.webhook.url of the order, or url of the alert settings' }),
    status: z.enum(['pending', 'delivered', 'failed']).meta({
      description:
        'pending: another try will follow; failed: seven tries failed, or one that is final, such as a 410',
    }),
    created_at: TIME.meta({ description: 'When the task ended or the alert became due' }),
    delivered_at: TIME.nullable().meta({ description: 'When your endpoint accepted it; null until then' }),
    next_try_at: TIME.nullable().meta({ description: 'Time of the next try; null unless pending' }),
    tries: z
      .array(
        z.object({
          try: z.int().meta({ description: 'Number of the try, from 1' }),
          at: TIME.meta({ description: 'When it was sent' }),
          http_status: z
            .int()
            .nullable()
            .meta({ description: 'Status that your endpoint answered; null when there was no answer' }),
          error: z.string().nullable().meta({ description: 'Why it failed; null when it did not' }),
          duration_ms: z.int().meta({ description: 'Time until the answer or the failure, in ms' }),
        }),
      )
      .meta({ description: 'The result of each try, oldest first' }),
  })
  .meta({ id: 'WebhookDelivery' });
export const DELIVERIES_RESPONSE = listOf(DELIVERY, 'The deliveries');
export const REDELIVERY_RESPONSE = answerOf(
  z.object({
    id: z.string().meta({ description: 'Id of the delivery, whd_…' }),
    status: z.literal('pending').meta({ description: 'It will be sent again' }),
  }),
  'The delivery',
);

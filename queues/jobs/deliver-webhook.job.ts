import { z } from 'zod';
import { defineJob, traceFields } from '../define-job.ts';

/** Tries a webhook delivery once; the delivery's own table decides about the next try. */
export const deliverWebhook = defineJob({
  name: 'webhooks.deliver',
  family: 'webhooks',
  payload: z.strictObject({ deliveryId: z.guid(), dispatch: z.int().min(1), ...traceFields }),
  jobId: ({ deliveryId, dispatch }) => `${deliveryId}-${dispatch}`,
  timeoutMs: 30_000,
});

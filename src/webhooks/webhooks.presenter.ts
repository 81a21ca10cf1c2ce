import type { z } from 'zod';
import { publicId } from '../lib/ids.ts';
import type { DeliveryView } from './webhook-deliveries.store.ts';
import type { WebhookSecrets } from './webhook-secrets.service.ts';
import type { DELIVERY, WEBHOOK_SECRET } from './webhooks.schema.ts';

export function presentSecret(secrets: WebhookSecrets): z.output<typeof WEBHOOK_SECRET> {
  return {
    secret: secrets.secret,
    previous_secret_expires_at: secrets.previousExpiresAt?.toISOString() ?? null,
  };
}

export function presentDelivery(delivery: DeliveryView): z.output<typeof DELIVERY> {
  return {
    id: publicId('webhookDelivery', delivery.id),
    task_id: delivery.taskId === null ? null : publicId('generation', delivery.taskId),
    event_type: delivery.event,
    url: delivery.url,
    status: delivery.state,
    created_at: delivery.createdAt.toISOString(),
    delivered_at: delivery.deliveredAt?.toISOString() ?? null,
    next_try_at: delivery.state === 'pending' ? delivery.nextTryAt.toISOString() : null,
    tries: delivery.log.map((entry) => ({
      try: entry.try,
      at: entry.at.toISOString(),
      http_status: entry.status,
      error: entry.error,
      duration_ms: entry.durationMs,
    })),
  };
}

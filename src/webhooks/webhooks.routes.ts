import type { z } from 'zod';
import { defineRoute, type Route } from '../http/route.ts';
import { AppError } from '../lib/errors.ts';
import { parsePublicId, publicId } from '../lib/ids.ts';
import type { DeliveryView, WebhookDeliveriesStore } from './webhook-deliveries.store.ts';
import type { WebhookSecrets, WebhookSecretsService } from './webhook-secrets.service.ts';
import {
  DELIVERIES_QUERY,
  DELIVERIES_RESPONSE,
  type DELIVERY,
  DELIVERY_PARAMS,
  REDELIVERY_RESPONSE,
  type WEBHOOK_SECRET,
  WEBHOOK_SECRET_RESPONSE,
} from './webhooks.schema.ts';

type Deliveries = Pick<WebhookDeliveriesStore, 'list' | 'listAlerts' | 'redeliver'>;

/** `/api/v1/webhooks`: the secret that signs events, the deliveries, and redelivery. */
export function webhookRoutes(secrets: WebhookSecretsService, deliveries: Deliveries): Route[] {
  return [...secretRoutes(secrets), ...deliveryRoutes(deliveries)];
}

function secretRoutes(secrets: WebhookSecretsService): Route[] {
  return [
    defineRoute({
      method: 'get',
      path: '/api/v1/webhooks/secret',
      operationId: 'getWebhookSecret',
      summary: 'Get the secret that events are signed with (Standard Webhooks)',
      tag: 'Webhooks',
      access: 'owner',
      envelope: 'data',
      response: { status: 200, schema: WEBHOOK_SECRET_RESPONSE },
      errors: [],
      leastRole: 'owner',
      async handle({ principal }) {
        return { body: { data: presentSecret(await secrets.get(principal.accountId)) } };
      },
    }),
    defineRoute({
      method: 'post',
      path: '/api/v1/webhooks/secret/rotate',
      operationId: 'rotateWebhookSecret',
      summary: 'Create a new secret; for one day, events are signed with both',
      tag: 'Webhooks',
      access: 'owner',
      envelope: 'data',
      response: { status: 200, schema: WEBHOOK_SECRET_RESPONSE },
      errors: [],
      idempotency: 'replay',
      async handle({ principal }) {
        return { body: { data: presentSecret(await secrets.rotate(principal.accountId)) } };
      },
    }),
  ];
}

function deliveryRoutes(deliveries: Deliveries): Route[] {
  return [
    defineRoute({
      method: 'get',
      path: '/api/v1/webhooks/deliveries',
      operationId: 'listWebhookDeliveries',
      summary:
        "List the webhook deliveries of a task, or of the account's own events, with a log of every try",
      tag: 'Webhooks',
      access: 'owner',
      envelope: 'data',
      query: DELIVERIES_QUERY,
      response: { status: 200, schema: DELIVERIES_RESPONSE },
      errors: [],
      async handle({ principal, query }) {
        const found = await deliveriesOf(deliveries, principal.accountId, query.task_id);
        return { body: { data: found.map(presentDelivery) } };
      },
    }),
    defineRoute({
      method: 'post',
      path: '/api/v1/webhooks/deliveries/{id}/redeliver',
      operationId: 'redeliverWebhook',
      summary: 'Retry a delivery now',
      tag: 'Webhooks',
      access: 'owner',
      envelope: 'data',
      params: DELIVERY_PARAMS,
      response: { status: 200, schema: REDELIVERY_RESPONSE },
      errors: ['delivery_not_found'],
      idempotency: 'replay',
      leastRole: 'developer',
      async handle({ principal, params }) {
        const id = parsePublicId('webhookDelivery', params.id);
        if (id === undefined || !(await deliveries.redeliver(id, principal.accountId))) {
          throw new AppError('delivery_not_found', 'There is no such webhook delivery.');
        }
        return { body: { data: { id: publicId('webhookDelivery', id), status: 'pending' } } };
      },
    }),
  ];
}

async function deliveriesOf(
  deliveries: Deliveries,
  accountId: string,
  task: string | undefined,
): Promise<DeliveryView[]> {
  if (task === undefined) {
    return await deliveries.listAlerts(accountId);
  }
  const taskId = parsePublicId('generation', task);
  return taskId === undefined ? [] : await deliveries.list(accountId, taskId);
}

function presentSecret(secrets: WebhookSecrets): z.output<typeof WEBHOOK_SECRET> {
  return {
    secret: secrets.secret,
    previous_secret_expires_at: secrets.previousExpiresAt?.toISOString() ?? null,
  };
}

function presentDelivery(delivery: DeliveryView): z.output<typeof DELIVERY> {
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

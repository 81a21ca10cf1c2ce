import { linkHeader } from '../http/answers/page.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { presentOperatorDelivery } from './deliveries.presenter.ts';
import {
  deliveryListResponse,
  deliveryParams,
  deliveryResponse,
  listDeliveriesQuery,
} from './deliveries.schema.ts';
import type { DeliveriesService } from './deliveries.service.ts';
import { OPERATOR_ROUTE } from './operator-access.ts';

/** `/admin/v1/webhooks/deliveries`. */
export function deliveryRoutes(deliveries: DeliveriesService): Route[] {
  return [
    defineRoute({
      ...OPERATOR_ROUTE,
      method: 'get',
      path: '/admin/v1/webhooks/deliveries',
      operationId: 'listOperatorDeliveries',
      summary: 'List the webhook deliveries of every account, newest first',
      query: listDeliveriesQuery,
      response: { status: 200, schema: deliveryListResponse },
      errors: ['invalid_cursor', 'account_not_found', 'task_not_found'],
      async handle({ query, url }) {
        const page = await deliveries.list(query);
        return {
          headers: linkHeader(url, page.next),
          body: { data: page.rows.map(presentOperatorDelivery) },
        };
      },
    }),
    defineRoute({
      ...OPERATOR_ROUTE,
      method: 'post',
      path: '/admin/v1/webhooks/deliveries/{id}/redeliver',
      operationId: 'redeliverOperatorDelivery',
      summary: 'Retry a webhook delivery now',
      params: deliveryParams,
      response: { status: 200, schema: deliveryResponse },
      errors: ['delivery_not_found'],
      idempotency: 'replay',
      async handle({ params, operator, requestId }) {
        return {
          body: {
            data: presentOperatorDelivery(await deliveries.redeliver(params.id, { operator, requestId })),
          },
        };
      },
    }),
  ];
}

import { defineRoute, type Route } from '../http/route.ts';
import { parseUsdNumber } from '../lib/money.ts';
import { presentAlerts } from './alerts.presenter.ts';
import { ALERTS_RESPONSE, CHANGE_ALERTS_BODY } from './alerts.schema.ts';
import type { AlertsStore } from './alerts.store.ts';

/** `/api/v1/webhooks/alerts`: the alerts that an account wants about its credits and keys. */
export function alertRoutes(alerts: Pick<AlertsStore, 'find' | 'change'>): Route[] {
  return [
    defineRoute({
      method: 'get',
      path: '/api/v1/webhooks/alerts',
      operationId: 'getAlerts',
      summary: "Get the account's alerts: thresholds and address",
      tag: 'Webhooks',
      access: 'owner',
      envelope: 'data',
      response: { status: 200, schema: ALERTS_RESPONSE },
      errors: [],
      async handle({ principal }) {
        return { body: { data: presentAlerts(await alerts.find(principal.accountId)) } };
      },
    }),
    defineRoute({
      method: 'patch',
      path: '/api/v1/webhooks/alerts',
      operationId: 'changeAlerts',
      summary: "Change the account's alerts; omitted members keep their values",
      description:
        '`credits.low` is sent once when remaining_credits fall below `credits_low`, and again only after they have been above it. `key.limit_near` is sent once per limit and period of a key. Both are sent within a few seconds of the call that caused them.',
      tag: 'Webhooks',
      access: 'owner',
      envelope: 'data',
      body: CHANGE_ALERTS_BODY,
      response: { status: 200, schema: ALERTS_RESPONSE },
      errors: [],
      async handle({ principal, body }) {
        const { url, credits_low: low, key_limit_near: keyLimitNear } = body;
        const changed = await alerts.change(principal.accountId, {
          ...(url !== undefined && { url }),
          ...(low !== undefined && { creditsLow: low === null ? null : (parseUsdNumber(low) ?? null) }),
          ...(keyLimitNear !== undefined && { keyLimitNear }),
        });
        return { body: { data: presentAlerts(changed) } };
      },
    }),
  ];
}

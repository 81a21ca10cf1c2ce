import { API_EXAMPLES } from './api-examples.ts';
import type { ApiDescription } from './http/openapi/openapi.ts';
import { VERSION } from './lib/version.ts';
import { TASK_RESULT } from './tasks/task-result.presenter.ts';
import { CREDITS_LOW_EVENT, KEY_LIMIT_NEAR_EVENT } from './webhooks/alerts.presenter.ts';
import { CREDITS_LOW, KEY_LIMIT_NEAR } from './webhooks/alerts.schema.ts';
import { TASK_EVENT } from './webhooks/deliver-webhook.service.ts';

const EVENT_HEADERS = {
  'webhook-id': 'ID of the delivery; the same on every attempt',
  'webhook-timestamp': 'Time of this attempt, in Unix seconds',
  'webhook-signature':
    '`v1,` followed by the HMAC-SHA256 of `<id>.<timestamp>.<body>` in base64; two signatures for a day after the secret is rotated',
} as const;

/** The introductory part of the OpenAPI document. */
export const API_DESCRIPTION: ApiDescription = {
  title: 'Tollgate',
  version: VERSION,
  description:
    'A prepaid model gateway: chat, messages, videos and images, each charged exactly once to a balance that cannot be overspent.',
  tags: {
    Invocation: 'Text models, called synchronously or streamed, in three dialects; embeddings and rerank',
    Async: 'Videos and images: submit, then poll for the result',
    Tasks: "The same tasks in Tollgate's own format",
    Webhooks: 'Events about tasks, credits and keys: settings, the signing secret, deliveries, redelivery',
    Models: 'Available models and their prices',
    Keys: 'API keys, their limits and roles',
    Usage: 'Credits, consumption and costs',
    Billing: 'Buying credits, ledger entries, monthly statements',
    Operators: 'Running the service; requires the operator token',
    Workers: 'For workers on hosts without a database; requires a worker token',
    Console: 'Browser sessions, and data only the web console shows',
    Service: 'Health, metrics and this API description',
  },
  serverUrl: 'http://127.0.0.1:8080',
  examples: API_EXAMPLES,
  events: {
    [TASK_EVENT]: {
      summary: 'A task has ended',
      description:
        'Sent to `extra.webhook.url` of the submit request when the task has succeeded, failed or been canceled. The payload is what `GET /v3/async/task-result` returns at that moment. Signed as the Standard Webhooks specification requires.',
      payload: TASK_RESULT,
      headers: EVENT_HEADERS,
    },
    [CREDITS_LOW_EVENT]: {
      summary: 'Credits run low',
      description:
        "Sent to the `url` in the account's alert settings when its remaining credits fall below `credits_low`: once, and again only after they have been above it. Signed as the Standard Webhooks specification requires.",
      payload: CREDITS_LOW,
      headers: EVENT_HEADERS,
    },
    [KEY_LIMIT_NEAR_EVENT]: {
      summary: 'A key is near its limit',
      description:
        "Sent to the `url` in the account's alert settings when a key has spent `key_limit_near` percent of its limit: once per limit and, if the limit renews, once per period. Signed as the Standard Webhooks specification requires.",
      payload: KEY_LIMIT_NEAR,
      headers: EVENT_HEADERS,
    },
  },
};

import { API_EXAMPLES } from './api-examples.ts';
import type { ApiDescription } from './http/openapi/openapi.ts';
import { VERSION } from './lib/version.ts';
import { TASK_RESULT } from './tasks/task-result.presenter.ts';
import { CREDITS_LOW_EVENT, KEY_LIMIT_NEAR_EVENT } from './webhooks/alerts.presenter.ts';
import { CREDITS_LOW, KEY_LIMIT_NEAR } from './webhooks/alerts.schema.ts';
import { TASK_EVENT } from './webhooks/deliver-webhook.service.ts';

const EVENT_HEADERS = {
  'webhook-id': 'Of the delivery; the same over all tries',
  'webhook-timestamp': 'When this try was made, in seconds since 1970',
  'webhook-signature':
    '`v1,` and the HMAC-SHA256 of `<id>.<timestamp>.<body>` in base64; two for a day after a rotation',
} as const;

/** What the service is, for readers of its description. */
export const API_DESCRIPTION: ApiDescription = {
  title: 'Tollgate',
  version: VERSION,
  description:
    'A prepaid model gateway: chat, messages, videos and images, each paid exactly once from a balance that cannot be overspent.',
  tags: {
    Invocation: 'Text models, called synchronously or streamed, in three dialects; embeddings and rerank',
    Async: 'Videos and images: submit, then ask for the result',
    Tasks: "The same tasks in this service's own form",
    Webhooks: 'Events of tasks, credits and keys: settings, their secret, what was delivered, another try',
    Models: 'What can be called, and its prices',
    Keys: 'API keys, their limits and roles',
    Usage: 'Credits, consumption and costs',
    Billing: 'Buying credits, ledger entries, monthly statements',
    Operators: 'For those who run the service; needs the operator token',
    Workers: 'For workers on hosts without a database; needs a worker token',
    Console: 'Browsers that sign in, and what the web console shows beyond the other operations',
    Service: 'Health, metrics and this description',
  },
  serverUrl: 'http://127.0.0.1:8080',
  examples: API_EXAMPLES,
  events: {
    [TASK_EVENT]: {
      summary: 'A task has ended',
      description:
        'Sent to the URL that an order names in `extra.webhook.url`, when its task has succeeded, failed or been canceled, with what `GET /v3/async/task-result` answers at that moment. Signed as Standard Webhooks say.',
      payload: TASK_RESULT,
      headers: EVENT_HEADERS,
    },
    [CREDITS_LOW_EVENT]: {
      summary: 'Credits run low',
      description:
        "Sent to the `url` of the account's alerts when its remaining credits have fallen below `credits_low`: once, and again after they were above it. Signed as Standard Webhooks say.",
      payload: CREDITS_LOW,
      headers: EVENT_HEADERS,
    },
    [KEY_LIMIT_NEAR_EVENT]: {
      summary: 'A key is near its limit',
      description:
        "Sent to the `url` of the account's alerts when a key has spent `key_limit_near` percent of its limit: once per limit and, where the limit renews, per period. Signed as Standard Webhooks say.",
      payload: KEY_LIMIT_NEAR,
      headers: EVENT_HEADERS,
    },
  },
};

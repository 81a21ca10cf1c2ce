import { AppError, type ErrorCode, errorCodes } from '../../src/lib/errors.ts';
import { markdownTable } from './schema-table.ts';

/** When each error code is returned, and what the caller should do. A new code needs an entry here. */
const HELP: Readonly<Record<ErrorCode, readonly [when: string, then: string]>> = {
  invalid_request: [
    'the path, the query or the body as a whole is not acceptable; with status 408, the body arrived too slowly; with 406, the answer has no CSV form',
    'correct the request',
  ],
  invalid_parameter: [
    'a member is missing, has the wrong type or lies outside its range',
    'correct the member named in `message`',
  ],
  invalid_json: ['the body is not JSON', 'check how the body is serialized'],
  unsupported_input: [
    'an image, file, audio or video that the model does not take',
    'choose a model that lists it in `input_modalities`',
  ],
  model_not_supported_on_endpoint: [
    'the model exists, but not on this endpoint',
    'use the endpoint named in `message`',
  ],
  context_length_exceeded: [
    "prompt and answer do not fit into the model's context",
    'shorten the prompt, or lower `max_tokens`',
  ],
  invalid_cursor: ['a cursor that did not come from this list', 'start over without it, and follow `Link`'],
  unsupported_currency: ['the currency is not USD', 'send `usd`'],
  missing_api_key: ['neither `Authorization: Bearer` nor `x-api-key` was sent', 'send the key'],
  invalid_api_key: [
    'the key is mistyped, unknown or deleted; or the two headers have different keys',
    'check that the whole key was copied, or create a new one',
  ],
  key_disabled: ['an owner or the operator disabled the key', 'enable it, or use another'],
  key_expired: ["the key's `expires_at` has passed", 'change `expires_at`, or use another key'],
  insufficient_scope: ['an inference key was sent where an owner key is needed', 'use an owner key'],
  model_not_allowed: [
    'the key or the account is restricted to other models',
    'ask the owner of the key, or the operator',
  ],
  account_suspended: ['the operator suspended the account; reads still work', 'ask the operator'],
  signature_invalid: [
    'the signature of a media link or an upload does not match',
    'read the task again for a fresh link',
  ],
  login_too_old: ['console: this action needs a sign-in within the last 15 minutes', 'sign in again'],
  csrf_rejected: ['console: the request does not come from its own page', 'reload the page'],
  insufficient_credits: [
    "the call's maximum cost exceeds what is available; running calls hold money, too",
    'buy credits (a debt is repaid first), lower `max_tokens`, or wait for running calls to end',
  ],
  key_limit_exceeded: [
    "the key's own limit is used up or held by running calls",
    "raise the key's `limit`, or wait for its period to end",
  ],
  max_cost_exceeded: [
    'the call could cost more than its `x-max-cost`',
    'raise the header, or lower `max_tokens`',
  ],
  route_not_found: ['no such path', 'see `/docs`'],
  key_not_found: ['the account has no such key, or it was deleted', 'check the id'],
  model_not_found: [
    'the catalog has no such model',
    '`message` suggests the nearest name; `GET /api/v1/models` lists all',
  ],
  generation_not_found: ['no such generation in this account', 'check the id'],
  checkout_session_not_found: ['no such checkout in this account', 'check the id'],
  transaction_not_found: ['no such entry in this account', 'check the id'],
  invoice_not_found: ['no such statement in this account', 'check the id'],
  task_not_found: ['no such task in this account, or its row is older than 30 days', 'check the id'],
  session_not_found: ['no such browser session', 'check the id'],
  member_not_found: ['no such member of this account', 'check the id; they may have been removed'],
  invitation_not_found: [
    'no such open invitation of this account',
    'it was used, was withdrawn or has expired: invite again',
  ],
  account_not_found: ['operators: no such account', 'check the id'],
  worker_not_found: [
    'operators: no live worker runs on a host with that name',
    '`tollgate workers list` shows the hosts',
  ],
  queue_not_found: ['operators: no such queue', 'check the id'],
  delivery_not_found: ['no such delivery in this account', 'check the id'],
  media_not_found: ['the task ended without that file', 'check `index` and `variant`'],
  method_not_allowed: ['the path exists, the method does not', 'see `Allow`'],
  media_expired: [
    'the files are deleted a day after the task; the task and its charge stay',
    'order again, and fetch the files in time',
  ],
  idempotency_in_progress: [
    'the first request with this `Idempotency-Key` is still running: it is a stream, or has run for more than nine minutes',
    'retry after `Retry-After` seconds',
  ],
  idempotency_completed: [
    'the first request with this `Idempotency-Key` was a stream, which is not replayed; **it was charged** if it produced output',
    'read the generation named in `message`',
  ],
  idempotency_key_reused: [
    'this `Idempotency-Key` was used with another body',
    'use a new key for a new request',
  ],
  key_in_use: ['a key cannot disable or delete itself', 'use another owner key'],
  too_many_keys: [
    'the account has reached its maximum number of keys',
    'delete keys that are no longer used, or ask the operator to raise `max_keys`',
  ],
  too_many_invitations: ['the account has 100 open invitations', 'withdraw some that are not needed'],
  task_not_cancelable: ['the task has ended, or its engine cannot stop it', 'wait for it to end'],
  task_not_finished: ['the task has no files yet', 'wait, e.g. with `Prefer: wait=30`'],
  task_not_retryable: [
    'operators: only failed tasks whose order was kept can be retried',
    'ask the customer to order it again',
  ],
  payload_too_large: [
    'the body is larger than the route accepts: 32 MB for calls, 64 KiB by default',
    'send media by URL, or make it smaller',
  ],
  unsupported_media_type: [
    'the body is not `application/json` in UTF-8, or is compressed',
    'send uncompressed JSON',
  ],
  headers_too_large: [
    'the request line and headers together are too large',
    'send less in headers and query',
  ],
  rate_limit_exceeded: [
    'the key or the account used up its requests or tokens per minute',
    'wait `Retry-After` seconds; `x-ratelimit-*` shows what is left',
  ],
  concurrency_limit_exceeded: [
    'too many calls, or too many bytes of request bodies, in flight, and none ended within ten seconds',
    'send fewer at once; retry after `Retry-After` seconds',
  ],
  provider_rate_limited: [
    'the provider limits its rate, on every route of the model',
    'retry after `Retry-After` seconds',
  ],
  internal_error: ['a bug in the service', 'retry once, then send the `request_id` to the operator'],
  provider_error: [
    "the provider failed or sent an unreadable answer; with `x-should-retry: false` the answer is larger than 48 MB, or the operator's key, account or route there is wrong",
    'retry unless `x-should-retry` is `false`, or use another model',
  ],
  service_unavailable: [
    'the service is overloaded, shutting down, or without its database',
    'retry after `Retry-After` seconds',
  ],
  provider_overloaded: [
    'the provider has no capacity',
    'retry after `Retry-After` seconds, or use another model',
  ],
  provider_timeout: [
    'the provider did not answer in time',
    'retry, with a smaller request if it happens again',
  ],
};

const SECTIONS: readonly (readonly [title: string, statuses: readonly number[], intro: string])[] = [
  ['400: the request is wrong', [400], ''],
  ['401 and 403: the caller', [401, 403], ''],
  ['402: money', [402], 'Lack of money is never 429 or 5xx, because SDKs retry those by themselves.'],
  ['404, 405, 410: not found', [404, 405, 410], 'Objects of other accounts are treated as nonexistent.'],
  ['409 and 422: conflicts with the current state', [409, 422], ''],
  ['413, 415, 431: size and form', [413, 415, 431], ''],
  ['429: too many requests', [429], ''],
  [
    "5xx: ours, or the provider's",
    [500, 502, 503, 504],
    `A provider's failure before its first byte is free. A failure after an answer has begun is free within a small allowance per account and
hour; beyond that **what was delivered is charged**. \`GET /api/v1/generation?id=…\` shows the charge.`,
  ],
];

const HEAD = `# Errors

\`npm run generate\` writes this page from the codes themselves. Every error is \`{"error":{"code","message","type"},"request_id"}\`. \`code\` is
stable and meant for programs; \`message\` is for people and begins with the path of the wrong field. New codes may be added: handle an
unknown one by its HTTP status. *Retry* is the header \`x-should-retry\`: whether repeating the same request can help; \`Retry-After\` gives the
seconds to wait. A request whose body arrived too slowly is \`invalid_request\` with status 408,
one for CSV that does not exist with 406. Responses of \`/v3/async/*\` also contain Novita's
\`code\`, \`reason\`, \`message\` and \`metadata\`.

**A rejected call costs nothing.** A charge is possible only where this page says so. Quote the \`request_id\` when you ask for help: the
operator can use it to find the call. Failed images and videos have their own codes: [tasks that fail](tasks.md).
`;

const TAIL = `
## Only on a generation

\`client_closed\`: the client disconnected before the answer was complete, and no retry asked for it again. Raise the client's timeout, or send an
\`Idempotency-Key\`; see [try again without paying twice](../api-guide.md#try-again-without-paying-twice).
`;

/** Returns every error code as a page of the docs. */
export function errorsReference(): string {
  const sections = SECTIONS.map(([title, statuses, intro]) => {
    const rows = errorCodes()
      .filter(({ status }) => statuses.includes(status))
      .map(({ code, status }) => [
        `<a id="${code}"></a>\`${code}\``,
        String(status),
        HELP[code][0],
        HELP[code][1],
        retryOf(code),
      ]);
    const table = markdownTable(['Code', 'Status', 'When', 'What to do', 'Retry'], rows);
    return `\n## ${title}\n\n${intro === '' ? '' : `${intro}\n\n`}${table}\n`;
  });
  return `${HEAD}${sections.join('')}${TAIL}`;
}

function retryOf(code: ErrorCode): string {
  const { shouldRetry } = new AppError(code, '');
  return shouldRetry === undefined ? 'maybe' : shouldRetry ? 'yes' : 'no';
}

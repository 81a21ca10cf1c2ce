import { AppError, type ErrorCode, errorCodes } from '../../src/lib/errors.ts';
import { markdownTable } from './schema-table.ts';

/** When a code is answered, and what its caller does then. Whoever adds a code says both here. */
const HELP: Readonly<Record<ErrorCode, readonly [when: string, then: string]>> = {
  invalid_request: [
    'the path, the query or the body as a whole is not acceptable; with status 408, the body came too slowly',
    'change the request',
  ],
  invalid_parameter: [
    'a member is missing, has the wrong type or lies outside its range',
    'change the member that `message` names',
  ],
  invalid_json: ['the body is not JSON', 'check how it is serialized'],
  unsupported_input: [
    'an image, file, audio or video that the model does not take',
    'choose a model that lists it in `input_modalities`',
  ],
  model_not_supported_on_endpoint: [
    'the model exists but is called elsewhere',
    'use the endpoint that `message` names',
  ],
  context_length_exceeded: [
    "prompt and answer do not fit into the model's context",
    'shorten the prompt, or lower `max_tokens`',
  ],
  invalid_cursor: ['a cursor that did not come from this list', 'begin again without it; follow `Link`'],
  unsupported_currency: ['anything but USD', 'send `usd`'],
  missing_api_key: ['neither `Authorization: Bearer` nor `x-api-key`', 'send the key'],
  invalid_api_key: [
    'mistyped, unknown or deleted; or the two headers differ',
    'check for cut-off characters; make a new key',
  ],
  key_disabled: ['an owner or the operator disabled it', 'enable it, or use another'],
  key_expired: ['`expires_at` has passed', 'change `expires_at`, or use another'],
  insufficient_scope: ['an inference key where an owner key is needed', 'use an owner key'],
  model_not_allowed: [
    'the key or the account is confined to other models',
    'ask the owner of the key, or the operator',
  ],
  account_suspended: ['the operator suspended the account; reads still work', 'talk to the operator'],
  signature_invalid: [
    'a media link or an upload was changed on its way',
    'read the task again for a fresh link',
  ],
  login_too_old: ['the console: this needs a sign-in of the last 15 minutes', 'sign in again'],
  csrf_rejected: ['the console: the request does not come from its page', 'reload the page'],
  insufficient_credits: [
    'the most that the call can cost is more than what is free; running calls hold money, too',
    'buy credits, lower `max_tokens`, or wait for running calls; a debt is repaid first',
  ],
  key_limit_exceeded: [
    "the key's own limit is used up or held",
    "raise the key's `limit`, or wait for its period to end",
  ],
  max_cost_exceeded: [
    'the call could cost more than its `x-max-cost`',
    'raise the header, or lower `max_tokens`',
  ],
  route_not_found: ['no such path', 'see `/docs`'],
  key_not_found: ['no such key in this account, or it was deleted', 'check the id'],
  model_not_found: [
    'the catalog has no such model',
    '`message` suggests the nearest name; `GET /api/v1/models` lists all',
  ],
  generation_not_found: ['no such generation in this account', 'check the id'],
  checkout_session_not_found: ['no such checkout in this account', 'check the id'],
  transaction_not_found: ['no such entry in this account', 'check the id'],
  invoice_not_found: ['no such statement in this account', 'check the id'],
  task_not_found: ['no such task in this account, or its row is older than 30 days', 'check the id'],
  session_not_found: ['no such sign-in of a browser', 'check the id'],
  account_not_found: ['operators: no such account', 'check the id'],
  worker_not_found: [
    'operators: no live worker runs on a host of that name',
    '`tollgate workers list` names them',
  ],
  queue_not_found: ['operators: no such queue', 'check the id'],
  delivery_not_found: ['no such delivery in this account', 'check the id'],
  media_not_found: ['the task ended without that file', 'check `index` and `variant`'],
  method_not_allowed: ['the path exists, the method does not', 'see `Allow`'],
  media_expired: [
    'files go a day after the task; the task and its charge stay',
    'order again, and fetch files in time',
  ],
  idempotency_in_progress: [
    'the first request with this `Idempotency-Key` is a stream that still runs, or runs for more than nine minutes',
    'ask again after `Retry-After`',
  ],
  idempotency_completed: [
    'the first one ended and was a stream, which is not replayed; **it was charged** where it gave an answer',
    'read the generation that `message` names',
  ],
  idempotency_key_reused: ['the key came before with another body', 'use a new key for a new request'],
  key_in_use: ['a key cannot disable or delete itself', 'use another owner key'],
  too_many_keys: [
    'the account has as many keys as it may',
    'delete keys that are no longer used, or ask the operator to raise `max_keys`',
  ],
  task_not_cancelable: ['it has ended, or its engine cannot stop it', 'wait for its end'],
  task_not_finished: ['it has no files yet', 'wait: `Prefer: wait=30`'],
  task_not_retryable: [
    "the operator's retry: only failed tasks whose order was kept",
    'have it ordered again',
  ],
  payload_too_large: [
    'the body is larger than the route takes: 32 MB for calls, 64 KiB where nothing else is said',
    'send media by URL, or smaller',
  ],
  unsupported_media_type: ['not `application/json` in UTF-8, or compressed', 'send plain JSON'],
  headers_too_large: ['the head of the request', 'send less in headers and query'],
  rate_limit_exceeded: [
    'requests or tokens a minute, of the key or the account',
    'wait `Retry-After`; `x-ratelimit-*` tells what is left',
  ],
  concurrency_limit_exceeded: [
    'too many calls, or too many bytes of bodies, in flight, and no place was free within ten seconds',
    'end some first, then after `Retry-After`',
  ],
  provider_rate_limited: ['the provider, on every route of the model', 'after `Retry-After`'],
  internal_error: ['a bug of the service', 'try again once, then send the `request_id` to the operator'],
  provider_error: [
    'the provider failed or sent an unreadable answer; with `x-should-retry: false` its key, account or route is wrong, which the operator has to fix',
    'try again unless told not to, or use another model',
  ],
  service_unavailable: [
    'this instance is overloaded, leaving, or without its database',
    'after `Retry-After`',
  ],
  provider_overloaded: ['the provider has no capacity', 'after `Retry-After`, or another model'],
  provider_timeout: [
    'the provider did not answer in time',
    'try again, with a smaller request if it repeats',
  ],
};

const SECTIONS: readonly (readonly [title: string, statuses: readonly number[], intro: string])[] = [
  ['400: the request is wrong', [400], ''],
  ['401 and 403: the caller', [401, 403], ''],
  ['402: money', [402], 'Never answered with 429 or 5xx, because SDKs retry those by themselves.'],
  [
    '404, 405, 410: not there',
    [404, 405, 410],
    'What belongs to another account is answered like what does not exist.',
  ],
  ['409 and 422: it conflicts with what is there', [409, 422], ''],
  ['413, 415, 431: size and form', [413, 415, 431], ''],
  ['429: too much at once', [429], ''],
  [
    "5xx: ours, or the provider's",
    [500, 502, 503, 504],
    `A provider's failure before its first byte is free. Once an answer has begun, its failure is free within a small allowance per account and
hour, and beyond that **what was delivered is charged**; \`GET /api/v1/generation?id=…\` tells.`,
  ],
];

const HEAD = `# Errors

\`npm run generate\` writes this page from the codes themselves. Every error is \`{"error":{"code","message","type"},"request_id"}\`. \`code\` is
stable and made for programs; \`message\` is for people and begins with the path of a wrong member. New codes may come: treat one you do
not know by its HTTP status. *Retry* is the header \`x-should-retry\`: whether asking again as it is can help; \`Retry-After\` says after how
many seconds. A request whose body came too slowly is \`invalid_request\` with status 408. Answers of \`/v3/async/*\` carry Novita's
\`code\`, \`reason\`, \`message\` and \`metadata\` beside these.

**A refused call costs nothing.** A charge is possible only where this page says so. Quote the \`request_id\` when you ask for help: the
operator finds the call by it. What a failed image or video says in \`reason\`: [tasks that fail](tasks.md).
`;

const TAIL = `
## On a generation only

\`client_closed\`: the client hung up before the answer had ended, and nobody asked for it again. Raise its time-out, or send an
\`Idempotency-Key\`; see [again without paying twice](../api-guide.md#try-again-without-paying-twice).
`;

/** Every error code as a page of the docs. */
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

import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Gateway, model } from './gateway.ts';
import { receivedText } from './received-text.ts';

/** Usage that a provider reports for what no client gets: free for a failure, not for an answer that cannot be passed on. */

const USAGE = { prompt_tokens: 40_000, completion_tokens: 0, total_tokens: 40_000 };
const DUE = 40_000_000n;
const OPENING = { id: 'x', choices: [{ index: 0, delta: { content: '' } }], usage: USAGE };
const RESPONSE = {
  id: 'r',
  object: 'response',
  output: [],
  usage: { input_tokens: 40_000, output_tokens: 0 },
};
const FAILED = { ...RESPONSE, status: 'failed', error: { code: 'server_error', message: 'no' } };

type Answer = (response: ServerResponse, isStream: boolean) => void;
const json =
  (body: object): Answer =>
  (response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
const events =
  (end: (response: ServerResponse) => void, ...list: readonly object[]): Answer =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(list.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));
    setTimeout(() => end(response), 30);
  };
const close = (response: ServerResponse) => response.end();
const reset = (response: ServerResponse) => response.socket?.resetAndDestroy();

let provider: Server;
let gateway: Gateway;
/** What each of the two routes answers. */
let answers: { first: Answer; second: Answer };

beforeAll(async () => {
  provider = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString() || '{}');
      (body.model === 'second' ? answers.second : answers.first)(response, body.stream === true);
    });
  });
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  const base_url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}/v1`;
  const timeouts = { first_byte_ms: 400, idle_ms: 200 };
  gateway = await Gateway.start({
    providers: [
      { id: 'chat', protocol: 'openai', base_url, timeouts },
      { id: 'responses', protocol: 'responses', base_url, timeouts },
    ],
    models: [
      model('chat', [{ provider: 'chat', model: 'first' }]),
      model('responses', [{ provider: 'responses', model: 'first' }]),
      model('both', [
        { provider: 'chat', model: 'first' },
        { provider: 'chat', model: 'second' },
      ]),
    ],
  });
});

afterAll(async () => {
  await gateway?.close();
  provider?.closeAllConnections();
  await new Promise((resolve) => provider?.close(resolve));
});

async function call(
  modelId: string,
  stream: boolean,
  path = '/api/v1/chat/completions',
  others: object = {},
) {
  // the allowance is used up
  gateway.ledger.waived = 100_000_000n;
  const before = gateway.ledger.settlements.length;
  const response = await fetch(gateway.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      ...{ model: modelId, stream, max_tokens: 100, messages: [{ role: 'user', content: 'hello' }] },
      ...others,
    }),
  });
  await receivedText(response);
  expect(gateway.ledger.settlements).toHaveLength(before + 1);
  return { http: response.status, ...gateway.ledger.last };
}

test.each<[string, string, boolean, Answer]>([
  ['silence', 'chat', true, events(() => undefined, OPENING)],
  ['a reset', 'chat', true, events(reset, OPENING)],
  ['an end', 'chat', true, events(close, OPENING)],
  [
    'an error frame',
    'chat',
    true,
    events(close, OPENING, { error: { message: 'no', type: 'server_error' } }),
  ],
  [
    'a failed response',
    'responses',
    true,
    events(
      close,
      { type: 'response.created', response: { ...RESPONSE, status: 'in_progress' } },
      { type: 'response.failed', response: FAILED },
    ),
  ],
  ['a failed response', 'responses', false, json(FAILED)],
  ['a canceled response', 'responses', false, json({ ...RESPONSE, status: 'cancelled' })],
])(
  '%s before the first byte is free although usage was reported (%s, stream: %s)',
  async (_what, id, stream, answer) => {
    answers = { first: answer, second: answer };
    const { http, status, due, charge } = await call(id, stream);
    expect(http).toBeGreaterThanOrEqual(500);
    expect({ status, due, charged: charge.amount }).toEqual({ status: 'failed', due: 0n, charged: 0n });
  },
);

test('an unreadable answer is covered by the allowance although the next route timed out', async () => {
  answers = { first: json({ id: 'x', choices: [], usage: USAGE }), second: () => undefined };
  gateway.ledger.waived = 0n;
  const before = gateway.ledger.settlements.length;
  const response = await fetch(`${gateway.url}/api/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'both', max_tokens: 100, messages: [{ role: 'user', content: 'hello' }] }),
  });
  await receivedText(response);
  expect(gateway.ledger.settlements).toHaveLength(before + 1);
  const { due, charge, waived } = gateway.ledger.last;
  expect({ due, charged: charge.amount, waived }).toEqual({ due: DUE, charged: 0n, waived: DUE });
});

describe('an answer that cannot be translated', () => {
  const toolCall = { id: 'c', type: 'function', function: { name: 'look', arguments: '[1,2]' } };
  const usage = { prompt_tokens: 20_000, completion_tokens: 900, total_tokens: 20_900 };
  const untranslatable = json({
    choices: [
      { index: 0, message: { role: 'assistant', tool_calls: [toolCall] }, finish_reason: 'tool_calls' },
    ],
    usage,
  });
  const tools = [{ name: 'look', input_schema: { type: 'object' } }];

  test('is charged as its provider reports, beyond the allowance', async () => {
    answers = { first: untranslatable, second: untranslatable };
    const {
      http,
      usage: used,
      charge,
      attempts,
    } = await call('chat', false, '/vendorx/v1/messages', { tools });
    expect(http).toBe(502);
    expect(used).toMatchObject({ inputTokens: 20_000, outputTokens: 100 });
    expect(charge.amount).toBe(20_000_000n + 200_000n);
    expect(attempts.map(({ outcome }) => outcome)).toEqual(['malformed']);
  });

  test('costs nothing when the next route answers', async () => {
    const message = { role: 'assistant', content: 'A harbour.' };
    const whole = { choices: [{ index: 0, message, finish_reason: 'stop' }] };
    answers = {
      first: untranslatable,
      second: json({ ...whole, usage: { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 } }),
    };
    const { http, usage: used, attempts } = await call('both', false, '/vendorx/v1/messages', { tools });
    expect(http).toBe(200);
    expect(used).toMatchObject({ inputTokens: 12, outputTokens: 3 });
    expect(attempts.map(({ outcome }) => outcome)).toEqual(['malformed', 'ok']);
  });
});

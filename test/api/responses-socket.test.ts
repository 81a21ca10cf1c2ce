import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import OpenAI from 'openai';
import { ResponsesWS } from 'openai/resources/responses/ws';
import { WebSocket } from 'ws';
import { createKey } from '../factories/api-key.ts';
import { eventually } from '../factories/eventually.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';
import { startOpenAiUpstream } from '../factories/upstream-openai.ts';
import type { UpstreamServer } from '../factories/upstream-server.ts';
import { type Customer, createCustomer } from '../operators/support/customer.ts';
import { type OperatorServer, startOperatorServer } from '../operators/support/operator-server.ts';

/** Responses over a WebSocket, with the official client and with messages that it would not send. */

// biome-ignore lint/suspicious/noExplicitAny: a test reads whatever came
type Event = any;

const SOCKETS_MAX = 100;

let upstream: UpstreamServer;
let server: OperatorServer;
let customer: Customer;

beforeAll(async () => {
  upstream = await startOpenAiUpstream();
  const catalog = join(temporaryFolder('catalog'), 'tollgate.yaml');
  await writeFile(
    catalog,
    `
limits: { requests_per_minute: 100000, tokens_per_minute: 100000000, concurrency: 100 }
providers: [{ id: maker, protocol: openai, base_url: "${upstream.url}", api_key: sk-upstream-key, on_disconnect: abort }]
models:
  - id: acme/coder
    endpoints: [chat]
    context_length: 128000
    max_output_tokens: 200
    pricing: { prompt: "0.000001", completion: "0.000002" }
    routes: [{ provider: maker, model: coder }]
`,
  );
  server = await startOperatorServer({ redisDatabase: 12, environment: { TOLLGATE_CONFIG: catalog } });
});
afterAll(async () => {
  await server?.close();
  await upstream?.close();
});
beforeEach(async () => {
  upstream.reset();
  customer = await createCustomer(server);
});

const socketUrl = (path: string) => `${server.url.replace('http', 'ws')}${path}`;

/** A socket whose messages are collected. */
class Client {
  readonly socket: WebSocket;
  readonly events: Event[] = [];

  constructor(secret = customer.secret, path = '/v1/responses') {
    this.socket = new WebSocket(socketUrl(path), { headers: { authorization: `Bearer ${secret}` } });
    this.socket.on('message', (data) => this.events.push(JSON.parse(String(data))));
  }

  async open(): Promise<this> {
    await once(this.socket, 'open');
    return this;
  }

  send(event: object): void {
    this.socket.send(JSON.stringify({ type: 'response.create', model: 'acme/coder', ...event }));
  }

  /** Sends a request and returns its last event. */
  async create(event: object): Promise<Event> {
    const before = this.events.length;
    this.send(event);
    return await this.ending(before);
  }

  /** Returns the first event after the first `before` that ends a response. */
  ending(before = 0): Promise<Event> {
    return eventually(async () =>
      this.events.slice(before).find(({ type }) => type === 'error' || type === 'response.completed'),
    );
  }

  close(): void {
    this.socket.close();
  }
}

/** Returns the status and body of a rejected handshake. */
async function rejection(
  path: string,
  headers: Record<string, string>,
): Promise<{ status: number; body: Event }> {
  const socket = new WebSocket(socketUrl(path), { headers });
  const [, response] = await once(socket, 'unexpected-response');
  const chunks = await response.toArray();
  return { status: response.statusCode, body: JSON.parse(Buffer.concat(chunks).toString()) };
}

async function charges(): Promise<string[]> {
  const answer = await server.call('GET', '/api/v1/billing/balance-transactions?type=usage_charge', {
    token: customer.secret,
  });
  return answer.json.data.map(({ amount }: { amount: { value: string } }) => amount.value);
}

test('the official client streams a response, which costs what it costs over HTTP', async () => {
  const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: customer.secret });
  const socket = new ResponsesWS(client);
  const types: string[] = [];
  let text = '';
  for await (const event of socket.stream()) {
    if (event.type === 'open') {
      socket.send({ type: 'response.create', model: 'acme/coder', input: 'Say something.' });
    } else if (event.type === 'message') {
      types.push(event.message.type);
      text += event.message.type === 'response.output_text.delta' ? event.message.delta : '';
      if (event.message.type === 'response.completed') {
        break;
      }
    } else if (event.type === 'error') {
      throw event.error;
    }
  }
  socket.close();
  expect(types.slice(0, 2)).toEqual(['response.created', 'response.in_progress']);
  expect(text).toBe('The quick brown fox jumps over the lazy dog');
  await client.responses.create({ model: 'acme/coder', input: 'Say something.' });
  const [overHttp, overSocket, ...others] = await eventually(async () => {
    const booked = await charges();
    return booked.length === 2 && booked;
  });
  expect(overSocket).toBe(overHttp);
  expect(others).toEqual([]);
});

test('a request continues the last response of its connection with new items alone', async () => {
  const client = await new Client().open();
  const first = await client.create({ input: 'My name is Ada.' });
  const { id, output } = first.response;
  const second = await client.create({
    previous_response_id: id,
    input: [{ role: 'user', content: 'And I?' }],
  });
  expect(second.type).toBe('response.completed');
  expect(upstream.last.body.messages).toMatchObject([
    { role: 'user', content: 'My name is Ada.' },
    { role: 'assistant', content: output[0].content[0].text },
    { role: 'user', content: 'And I?' },
  ]);
  const third = await client.create({ previous_response_id: second.response.id, input: 'And now?' });
  expect(third.type).toBe('response.completed');
  expect(upstream.last.body.messages).toHaveLength(5);
  // only the last response can be continued, and only on its own connection
  const requests = upstream.requests.length;
  const other = await new Client().open();
  for (const [who, previous] of [
    [client, id],
    [other, third.response.id],
  ] as const) {
    const refused = await who.create({ previous_response_id: previous, input: 'x' });
    expect(refused).toMatchObject({
      type: 'error',
      status: 400,
      error: { code: 'previous_response_not_found', param: 'previous_response_id' },
    });
  }
  expect(upstream.requests).toHaveLength(requests);
  client.close();
  other.close();
});

test('calls of tools and their results continue a response', async () => {
  const tool = { type: 'function', name: 'weather', parameters: { type: 'object', properties: {} } };
  const client = await new Client().open();
  const { response } = await client.create({ input: 'How is the weather?', tools: [tool] });
  const [call] = response.output;
  expect(call).toMatchObject({ type: 'function_call', name: 'weather' });
  const result = { type: 'function_call_output', call_id: call.call_id, output: 'rain' };
  await client.create({ previous_response_id: response.id, input: [result], tools: [tool] });
  expect(upstream.last.body.messages.map(({ role }: { role: string }) => role)).toEqual([
    'user',
    'assistant',
    'tool',
  ]);
  expect(upstream.last.body.messages[1].tool_calls).toHaveLength(1);
  client.close();
});

test('a compaction stands for everything before it', async () => {
  const client = await new Client().open();
  const said = { role: 'user', content: 'My name is Ada.' };
  const { response } = await client.create({ input: [said, { type: 'compaction_trigger' }] });
  expect(response.output).toMatchObject([{ type: 'compaction' }]);
  await client.create({ previous_response_id: response.id, input: 'Go on.' });
  const sent = JSON.stringify(upstream.last.body.messages);
  expect(sent).toContain('summary of it');
  expect(sent).not.toContain('Ada');
  client.close();
});

test('a request that generates nothing is free and can be continued', async () => {
  const client = await new Client().open();
  const prepared = await client.create({ input: 'My name is Ada.', generate: false, stream_id: 'a' });
  expect(client.events.map(({ type, stream_id }) => [type, stream_id])).toEqual([
    ['response.created', 'a'],
    ['response.completed', 'a'],
  ]);
  expect(prepared.response).toMatchObject({ status: 'completed', output: [], usage: { total_tokens: 0 } });
  expect(upstream.requests).toEqual([]);
  await client.create({ previous_response_id: prepared.response.id, input: 'Who am I?' });
  expect(upstream.last.body.messages).toMatchObject([
    { content: 'My name is Ada.' },
    { content: 'Who am I?' },
  ]);
  expect(await charges()).toHaveLength(1);
  client.close();
});

test.each([
  ['not JSON', '{', 400, 'invalid_json'],
  ['another event', '{"type":"session.update"}', 400, 'invalid_parameter'],
  ['no object', '[]', 400, 'invalid_parameter'],
  ['a wrong stream id', '{"type":"response.create","stream_id":7}', 400, 'invalid_parameter'],
  ['no input', '{"type":"response.create","model":"acme/coder"}', 400, 'invalid_parameter'],
  ['an unknown model', '{"type":"response.create","model":"acme/codr","input":"x"}', 404, 'model_not_found'],
  [
    'a background response',
    '{"type":"response.create","model":"acme/coder","input":"x","background":true}',
    400,
    'invalid_parameter',
  ],
])('%s is answered with an error, and the connection goes on', async (_, text, status, code) => {
  const client = await new Client().open();
  client.socket.send(text);
  expect(await client.ending()).toMatchObject({
    type: 'error',
    status,
    error: { code, message: expect.stringMatching(/\w/) },
  });
  expect((await client.create({ input: 'x' })).type).toBe('response.completed');
  expect(await charges()).toHaveLength(1);
  client.close();
});

test('a failed call has its status and headers in the error, and costs nothing', async () => {
  upstream.reset({ fault: 'rate_limit', retryAfter: '7' });
  const client = await new Client().open();
  const failed = await client.create({ input: 'x' });
  expect(failed).toMatchObject({ type: 'error', status: 429, error: { code: 'provider_rate_limited' } });
  expect(failed.headers).toMatchObject({
    'retry-after': '7',
    'x-request-id': expect.stringMatching(/^req_/),
  });
  expect(await charges()).toEqual([]);
  client.close();
});

test('a stream that breaks ends with the error that it has over HTTP', async () => {
  upstream.reset({ fault: 'reset_mid_stream' });
  const client = await new Client().open();
  const failed = await client.create({ input: 'x' });
  expect(failed).toMatchObject({ type: 'error', error: { code: 'provider_error' } });
  expect(client.events.map(({ type }) => type)).toContain('response.failed');
  client.close();
});

/** Holds back the answers of the upstream until the returned function is called. */
function holdAnswers(): () => void {
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  upstream.reset({ gate: () => gate });
  return open;
}

const contents = () => upstream.requests.map(({ body }) => body.messages[0].content);

test('requests that come early are answered one after the other, up to a limit', async () => {
  const client = await new Client().open();
  const open = holdAnswers();
  const texts = Array.from({ length: 16 }, (_, index) => `request ${index}`);
  for (const input of [...texts, 'one too many']) {
    client.send({ input });
  }
  expect(await client.ending()).toMatchObject({
    type: 'error',
    status: 429,
    error: { code: 'concurrency_limit_exceeded' },
  });
  await eventually(async () => contents().length === 1);
  open();
  const completed = () => client.events.filter(({ type }) => type === 'response.completed');
  await eventually(async () => completed().length === texts.length);
  expect(contents()).toEqual(texts);
  client.close();
});

test('requests with different stream ids run at once, and their events name them', async () => {
  const client = await new Client().open();
  const open = holdAnswers();
  client.send({ input: 'of a', stream_id: 'a' });
  client.send({ input: 'of b', stream_id: 'b' });
  client.send({ input: 'of a again', stream_id: 'a' });
  await eventually(async () => upstream.requests.length === 2);
  open();
  const completed = (id: string) =>
    client.events.filter((event) => event.type === 'response.completed' && event.stream_id === id);
  await eventually(async () => completed('a').length === 2 && completed('b').length === 1);
  expect(client.events.filter(({ stream_id }) => stream_id === undefined)).toEqual([]);
  expect(contents()[2]).toBe('of a again');
  // another stream can continue it
  const previous_response_id = completed('b')[0].response.id;
  const forked = await client.create({ input: 'go on', stream_id: 'c', previous_response_id });
  expect(forked).toMatchObject({ type: 'response.completed', stream_id: 'c' });
  expect(upstream.last.body.messages[0].content).toBe('of b');
  const failed = await client.create({ input: 'x', model: 'nope', stream_id: 'c' });
  expect(failed).toMatchObject({ type: 'error', status: 404, stream_id: 'c' });
  client.close();
});

test('a connection can have only so many stream ids', async () => {
  const client = await new Client().open();
  for (let number = 0; number < 16; number += 1) {
    expect((await client.create({ input: 'x', stream_id: `s${number}` })).type).toBe('response.completed');
  }
  const refused = await client.create({ input: 'x', stream_id: 'another' });
  expect(refused).toMatchObject({ type: 'error', error: { code: 'concurrency_limit_exceeded' } });
  expect((await client.create({ input: 'x', stream_id: 's3' })).type).toBe('response.completed');
  client.close();
});

test('a client that leaves pays for what it got, and its call ends', async () => {
  upstream.reset({ tokenDelayMs: 20, words: Array.from({ length: 200 }, () => ' word') });
  const client = await new Client().open();
  client.send({ input: 'x' });
  await eventually(async () => client.events.some(({ type }) => type === 'response.output_text.delta'));
  client.socket.terminate();
  const [amount] = await eventually(async () => {
    const booked = await charges();
    return booked.length === 1 && booked;
  });
  expect(Number(amount)).toBeLessThan(0);
  expect(upstream.last.finished).toBe(false);
  const { rows } = await server.db.database.money.query('SELECT count(*)::int AS held FROM holds', []);
  expect(rows).toEqual([{ held: 0 }]);
});

describe('a handshake', () => {
  const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });

  test.each([
    ['a wrong key', () => bearer('sk-wrong'), 401, 'invalid_api_key'],
    ['no key', () => ({}), 401, 'missing_api_key'],
    ['the cookie of a browser alone', () => ({ cookie: 'session=x' }), 401, 'missing_api_key'],
  ])('with %s is rejected', async (_, headers, status, code) => {
    expect(await rejection('/v1/responses', headers() as Record<string, string>)).toMatchObject({
      status,
      body: { error: { code }, request_id: expect.stringMatching(/^req_/) },
    });
  });

  test.each([
    ['/api/v1/chat/completions', ': send the request over HTTP'],
    ['/v1/realtime', ''],
  ])('at %s finds nothing', async (path, advice) => {
    const { status, body } = await rejection(path, bearer(customer.secret));
    expect(status).toBe(404);
    expect(body.error).toMatchObject({
      code: 'route_not_found',
      message: `there is no WebSocket at ${path}${advice}`,
    });
  });

  test('at a wrong base URL names the right one', async () => {
    const { body } = await rejection('/responses', bearer(customer.secret));
    expect(body.error.message).toContain('followed by /api/v1');
  });

  test('without its Upgrade header, which a proxy removed, gets 426: clients then use HTTP at once', async () => {
    const answer = await server.call('GET', '/v1/responses', { token: customer.secret });
    expect(answer.status).toBe(426);
    expect(answer.headers.get('upgrade')).toBe('websocket');
    expect(answer.json.error.message).toContain('a proxy may have removed it');
    expect((await server.call('PUT', '/v1/responses', { token: customer.secret })).status).toBe(405);
  });

  test.each(['/v1/responses', '/api/v1/responses', '/v3/openai/responses'])('works at %s', async (path) => {
    const client = await new Client(customer.secret, path).open();
    expect((await client.create({ input: 'x' })).type).toBe('response.completed');
    client.close();
  });

  test('of one socket too many is rejected, until one closes', async () => {
    const clients = await Promise.all(Array.from({ length: SOCKETS_MAX }, () => new Client().open()));
    expect(await rejection('/v1/responses', bearer(customer.secret))).toMatchObject({
      status: 429,
      body: { error: { code: 'concurrency_limit_exceeded' } },
    });
    const others = await createCustomer(server);
    (await new Client(others.secret).open()).close();
    clients.shift()?.close();
    await eventually(async () => {
      const again = new Client();
      again.socket.on('error', () => undefined);
      const [type] = await Promise.race([
        once(again.socket, 'open').then(() => ['open']),
        once(again.socket, 'unexpected-response').then(() => ['rejected']),
      ]);
      again.close();
      return type === 'open';
    });
    for (const client of clients) {
      client.close();
    }
  });
});

test('a key that was disabled after the handshake is rejected', async () => {
  const key = await createKey(server.db.database, customer.accountId);
  const client = await new Client(key.secret).open();
  const body = { disabled: true };
  const disabled = await server.call('PATCH', `/api/v1/keys/${key.hash}`, { token: customer.secret, body });
  expect(disabled.status).toBe(200);
  const refused = await eventually(async () => {
    const answer = await client.create({ input: 'x' });
    return answer.type === 'error' && answer;
  });
  expect(refused).toMatchObject({ status: 401, error: { code: 'key_disabled' } });
  client.close();
});

test('a message that is too long closes the connection, and a long one does not', async () => {
  const client = await new Client().open();
  const image = `data:image/png;base64,${'A'.repeat(3_000_000)}`;
  const long = await client.create({
    input: [{ role: 'user', content: [{ type: 'input_text', text: image }] }],
  });
  // longer than the context of the model
  expect(long).toMatchObject({ type: 'error', status: 400, error: { code: 'context_length_exceeded' } });
  client.socket.send('x'.repeat(33 * 1024 * 1024), () => undefined);
  const [code] = await once(client.socket, 'close');
  expect(code).toBe(1009);
});

test('messages that are arriving count toward the bytes that an account may have in flight', async () => {
  const clients = await Promise.all(Array.from({ length: 3 }, () => new Client().open()));
  const part = Buffer.alloc(22 * 1024 * 1024, 'x');
  for (const { socket } of clients) {
    socket.send(part, { fin: false, binary: false }, () => undefined);
  }
  const refused = await eventually(async () => clients.find(({ events }) => events.length > 0));
  expect(refused.events[0]).toMatchObject({ type: 'error', status: 429 });
  await eventually(async () => refused.socket.readyState === WebSocket.CLOSED);
  for (const { socket } of clients) {
    socket.terminate();
  }
  const later = await new Client().open();
  await eventually(async () => (await later.create({ input: 'x' })).type === 'response.completed');
  later.close();
});

test('before the process stops, idle sockets close at once and busy ones after their response', async () => {
  const open = holdAnswers();
  const [idle, busy] = [await new Client().open(), await new Client().open()];
  busy.send({ input: 'x' });
  await eventually(async () => upstream.requests.length === 1);
  const closed = [idle, busy].map(({ socket }) => once(socket, 'close'));
  server.webSockets.leave();
  expect((await closed[0])?.[0]).toBe(1001);
  expect(busy.socket.readyState).toBe(WebSocket.OPEN);
  expect(await rejection('/v1/responses', { authorization: `Bearer ${customer.secret}` })).toMatchObject({
    status: 503,
  });
  open();
  expect((await busy.ending()).type).toBe('response.completed');
  expect((await closed[1])?.[0]).toBe(1001);
});

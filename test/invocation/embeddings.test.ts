import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import OpenAI from 'openai';
import { Gateway, model, prices } from './gateway.ts';

const VECTOR = [0.5, -0.25, 1];

/** What the upstream answers next, whether it supports base64, and what it was asked. */
const upstream = {
  base64: true,
  status: 200,
  body: undefined as object | undefined,
  /** Members that it rejects, one at a time. */
  unknown: [] as string[],
  // biome-ignore lint/suspicious/noExplicitAny: bodies of several shapes
  asked: [] as { path: string; body: any }[],
};
let server: Server;
let gateway: Gateway;
let openai: OpenAI;

function answerOf(body: { input: unknown; encoding_format?: string }): object {
  const inputs = Array.isArray(body.input) && typeof body.input[0] !== 'number' ? body.input : [body.input];
  const bytes = Buffer.from(new Float32Array(VECTOR).buffer).toString('base64');
  const embedding = upstream.base64 && body.encoding_format === 'base64' ? bytes : VECTOR;
  // the last first: the index gives the place
  const data = inputs.map((_, index) => ({ object: 'embedding', index, embedding })).reverse();
  return { object: 'list', data, model: 'secret-name', usage: { prompt_tokens: 5, total_tokens: 5 } };
}

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) {
      chunks.push(chunk as Buffer);
    }
    const body = JSON.parse(Buffer.concat(chunks).toString());
    upstream.asked.push({ path: request.url ?? '', body });
    const unknown = upstream.unknown.find((name) => body[name] !== undefined);
    response.writeHead(unknown ? 400 : upstream.status, { 'content-type': 'application/json' });
    const refusal = unknown && { error: { message: `Unrecognized request argument supplied: ${unknown}` } };
    response.end(JSON.stringify(refusal ?? upstream.body ?? answerOf(body)));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const vectors = {
    endpoints: ['embeddings'],
    contextLength: 100,
    maxOutputTokens: 0,
    pricing: prices('0.00000002', '0'),
  };
  gateway = await Gateway.start({
    providers: [
      { id: 'one', protocol: 'openai', base_url },
      { id: 'two', protocol: 'anthropic', base_url },
      { id: 'builtin', protocol: 'builtin' },
    ],
    models: [
      model('vectors', [{ provider: 'one', model: 'secret-name' }], vectors),
      model('offline', [{ provider: 'builtin', model: 'builtin' }], vectors),
      model('messages-only', [{ provider: 'two', model: 'claude' }], vectors),
      model('chat', [{ provider: 'builtin', model: 'builtin' }], { endpoints: ['chat'] }),
    ],
  });
  openai = new OpenAI({ apiKey: 'k', baseURL: `${gateway.url}/api/v1`, maxRetries: 0 });
});

beforeEach(() =>
  Object.assign(upstream, { base64: true, status: 200, body: undefined, unknown: [], asked: [] }),
);

afterAll(async () => {
  await gateway?.close();
  server?.close();
});

test('a server gets no member that it rejects and that vectors are as good without', async () => {
  upstream.unknown = ['encoding_format', 'user'];
  const body = { model: 'vectors', input: 'a', user: 'u', encoding_format: 'base64' } as const;
  const { data, response } = await openai.embeddings.create(body).withResponse();
  expect(Buffer.from(data.data[0]?.embedding as unknown as string, 'base64')).toHaveLength(12);
  expect(response.headers.get('x-ignored-parameters')).toBe('user');
  expect(upstream.asked).toHaveLength(3);
  upstream.unknown = ['dimensions'];
  const shorter = openai.embeddings.create({ model: 'vectors', input: 'a', dimensions: 2 });
  await expect(shorter).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining('dimensions'),
  });
});

test.each([true, false])(
  'returns floats to the official SDK, which asks for base64 (base64 upstream: %s)',
  async (base64) => {
    upstream.base64 = base64;
    const {
      data,
      usage,
      model: named,
    } = await openai.embeddings.create({ model: 'vectors', input: ['a', 'b', 'c'] });
    expect(data.map(({ index, embedding }) => ({ index, embedding }))).toEqual(
      [0, 1, 2].map((index) => ({ index, embedding: VECTOR })),
    );
    expect(upstream.asked).toEqual([
      {
        path: '/v1/embeddings',
        body: { model: 'secret-name', input: ['a', 'b', 'c'], encoding_format: 'base64' },
      },
    ]);
    expect(named).toBe('vectors');
    expect(usage).toEqual({
      input_tokens: 5,
      output_tokens: 0,
      total_tokens: 5,
      cache_read_tokens: 0,
      cache_write_tokens: 0,
      reasoning_tokens: 0,
      prompt_tokens: 5,
      cost: 0.0000001,
    });
    expect(gateway.ledger.settlements.at(-1)).toMatchObject({
      status: 'completed',
      usageSource: 'provider',
      charge: { amount: 100n, lines: { input: 100n } },
    });
  },
);

test.each([
  ['a text', 'hello'],
  ['tokens', [1, 2, 3]],
  ['lists of tokens', [[1, 2], [3]]],
])('embeds %s as floats, shortened', async (_, input) => {
  const { data } = await openai.embeddings.create({
    model: 'vectors',
    input,
    encoding_format: 'float',
    dimensions: 3,
  });
  expect(data[0]?.embedding).toEqual(VECTOR);
  expect(upstream.asked[0]?.body).toEqual({
    model: 'secret-name',
    input,
    encoding_format: 'float',
    dimensions: 3,
  });
});

test('gives each input its own context, and counts lists of tokens', async () => {
  const most = Array.from({ length: 90 }, (_, token) => token);
  await openai.embeddings.create({ model: 'vectors', input: [most, most, most] });
  await expect(
    openai.embeddings.create({ model: 'vectors', input: [...most, ...most] }),
  ).rejects.toMatchObject({
    status: 400,
    code: 'context_length_exceeded',
  });
  await expect(
    openai.embeddings.create({ model: 'vectors', input: 'word '.repeat(200) }),
  ).rejects.toMatchObject({
    code: 'context_length_exceeded',
  });
  expect(upstream.asked).toHaveLength(1);
});

test('gives the same text the same vector in the built-in model, and places texts with common words close together', async () => {
  const { data } = await openai.embeddings.create({
    model: 'offline',
    input: ['a red gate', 'the red gate', 'blue water', 'a red gate'],
    dimensions: 64,
  });
  const [one, near, far, again] = data.map(({ embedding }) => embedding);
  const product = (other: number[]) => one!.reduce((sum, value, place) => sum + value * other[place]!, 0);
  expect(one).toHaveLength(64);
  expect(one).toEqual(again);
  expect(product(one!)).toBeCloseTo(1);
  expect(product(near!)).toBeGreaterThan(product(far!));
});

test.each([
  ['of fewer vectors', { data: [{ index: 0, embedding: VECTOR }] }],
  ['with a hole', { data: [0, 2].map((index) => ({ index, embedding: VECTOR })) }],
  ['with numbers that are none', { data: [0, 1].map((index) => ({ index, embedding: ['x'] })) }],
  ['of half a number', { data: [0, 1].map((index) => ({ index, embedding: 'AAA=' })) }],
  ['without data', {}],
])('neither passes on nor charges an answer %s', async (_, body) => {
  upstream.body = body;
  await expect(openai.embeddings.create({ model: 'vectors', input: ['a', 'b'] })).rejects.toMatchObject({
    status: 502,
    code: 'provider_error',
  });
  expect(gateway.ledger.settlements.at(-1)).toMatchObject({ status: 'failed', charge: { amount: 0n } });
});

test.each([
  ['texts', 'a'],
  ['lists of tokens', [1]],
])('says how many %s are too many', async (_what, input) => {
  const body = { model: 'vectors', input: Array.from({ length: 2_049 }, () => input) };
  const message = expect.stringContaining('input: must have at most 2048 items');
  await expect(openai.embeddings.create(body as OpenAI.EmbeddingCreateParams)).rejects.toMatchObject({
    status: 400,
    message,
  });
});

test('charges the total where a server reports no prompt', async () => {
  upstream.body = {
    data: [{ index: 0, embedding: VECTOR }],
    usage: { prompt_tokens: 0, total_tokens: 50 },
  };
  await openai.embeddings.create({ model: 'vectors', input: 'a short text' });
  expect(gateway.ledger.last).toMatchObject({ usageSource: 'provider', usage: { inputTokens: 50 } });
});

test('counts usage that nobody reports', async () => {
  upstream.body = { data: [{ index: 0, embedding: VECTOR }] };
  const { usage } = await openai.embeddings.create({ model: 'vectors', input: [1, 2, 3, 4] });
  expect(usage.prompt_tokens).toBe(4);
  expect(gateway.ledger.settlements.at(-1)).toMatchObject({
    usageSource: 'counted',
    charge: { amount: 80n },
  });
});

test.each<[object, string]>([
  [{ model: 'chat', input: 'a' }, 'model_not_supported_on_endpoint'],
  [{ model: 'messages-only', input: 'a' }, 'invalid_parameter'],
  [{ model: 'vectors', input: '' }, 'invalid_parameter'],
  [{ model: 'vectors', input: [] }, 'invalid_parameter'],
  [{ model: 'vectors', input: ['a', ''] }, 'invalid_parameter'],
  [{ model: 'vectors', input: ['a', 1] }, 'invalid_parameter'],
  [{ model: 'vectors', input: [-1] }, 'invalid_parameter'],
  [{ model: 'vectors', input: 'a', dimensions: 0 }, 'invalid_parameter'],
  [{ model: 'vectors', input: new Array(2_049).fill('a') }, 'invalid_parameter'],
])('rejects %.60j', async (body, code) => {
  await expect(openai.embeddings.create(body as OpenAI.EmbeddingCreateParams)).rejects.toMatchObject({
    status: 400,
    code,
  });
  expect(upstream.asked).toEqual([]);
});

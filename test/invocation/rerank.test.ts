import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { Gateway, model, prices } from './gateway.ts';

const TEXTS = ['a gate', 'a bridge', 'a toll gate'];
const RESULTS = [
  { index: 1, relevance_score: 0.1 },
  { index: 2, relevance_score: 0.9, document: { text: 'what the server has' } },
  { index: 0, relevance_score: 0.5 },
];

const upstream = {
  body: undefined as object | undefined,
  // biome-ignore lint/suspicious/noExplicitAny: whatever was sent
  asked: [] as { path: string; body: any }[],
};
let server: Server;
let gateway: Gateway;

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) {
      chunks.push(chunk as Buffer);
    }
    upstream.asked.push({ path: request.url ?? '', body: JSON.parse(Buffer.concat(chunks).toString()) });
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(upstream.body ?? { results: RESULTS, usage: { total_tokens: 15 } }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const ranks = {
    endpoints: ['rerank'],
    contextLength: 100,
    maxOutputTokens: 0,
    pricing: prices('0.00000002', '0', { request: '0.001' }),
  };
  gateway = await Gateway.start({
    providers: [
      { id: 'one', protocol: 'openai', base_url },
      { id: 'two', protocol: 'anthropic', base_url },
      { id: 'builtin', protocol: 'builtin' },
    ],
    models: [
      model('ranks', [{ provider: 'one', model: 'secret-name' }], ranks),
      model('offline', [{ provider: 'builtin', model: 'builtin' }], ranks),
      model('messages-only', [{ provider: 'two', model: 'claude' }], ranks),
      model('chat', [{ provider: 'builtin', model: 'builtin' }], { endpoints: ['chat'] }),
    ],
  });
});

beforeEach(() => {
  Object.assign(upstream, { body: undefined, asked: [] });
});

afterAll(async () => {
  await gateway?.close();
  server?.close();
});

async function rerank(body: object) {
  const response = await fetch(`${gateway.url}/api/v1/rerank`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'ranks', query: 'where to pay', documents: TEXTS, ...body }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: answers and refusals
  const answered = (await response.json()) as any;
  return { status: response.status, headers: response.headers, body: answered };
}

test('returns the best first, with the texts of the request, charged by the tokens the server counted and a price per call', async () => {
  const documents = [TEXTS[0], { text: TEXTS[1], title: 'x' }, TEXTS[2]];
  const { status, body } = await rerank({ documents, top_n: 2, return_documents: true });
  expect(status).toBe(200);
  expect(body).toEqual({
    id: expect.stringMatching(/^gen-/),
    model: 'ranks',
    results: [
      { index: 2, relevance_score: 0.9, document: { text: 'a toll gate' } },
      { index: 0, relevance_score: 0.5, document: { text: 'a gate' } },
    ],
    usage: {
      input_tokens: 15,
      output_tokens: 0,
      total_tokens: 15,
      cache_read_tokens: 0,
      cache_write_tokens: 0,
      reasoning_tokens: 0,
      prompt_tokens: 15,
      cost: 0.0010003,
    },
  });
  expect(upstream.asked).toEqual([
    {
      path: '/v1/rerank',
      body: { model: 'secret-name', query: 'where to pay', documents: TEXTS, top_n: 2 },
    },
  ]);
  expect(gateway.ledger.settlements.at(-1)).toMatchObject({
    status: 'completed',
    usageSource: 'provider',
    charge: { amount: 1_000_300n, lines: { input: 300n, request: 1_000_000n } },
  });
});

test.each([
  ['Cohere', { meta: { tokens: { input_tokens: 14 } } }, 14],
  ['llama.cpp', { usage: { prompt_tokens: 16, total_tokens: 16 } }, 16],
])('reads usage as %s reports it', async (_, reported, tokens) => {
  upstream.body = { results: RESULTS, ...reported };
  expect((await rerank({})).body.usage.prompt_tokens).toBe(tokens);
});

test('counts usage that nobody reports, with the query once per document', async () => {
  upstream.body = { results: RESULTS.slice(0, 1) };
  const one = await rerank({ documents: ['gate'], top_n: 1 }).then(() => gateway.ledger.settlements.at(-1));
  upstream.body = { results: RESULTS };
  await rerank({ documents: ['gate', 'gate', 'gate'] });
  const three = gateway.ledger.settlements.at(-1);
  expect(three?.usageSource).toBe('counted');
  expect(three?.usage.inputTokens).toBeGreaterThanOrEqual(3 * ((one?.usage.inputTokens ?? 0) - 1));
});

test('gives each document its own context', async () => {
  const most = 'word '.repeat(90);
  expect((await rerank({ documents: [most, most, most] })).status).toBe(200);
  expect((await rerank({ documents: ['word '.repeat(400)] })).body.error.code).toBe(
    'context_length_exceeded',
  );
});

test('ranks by common words in the built-in model', async () => {
  const { body } = await rerank({ model: 'offline', query: 'the toll gate' });
  expect(body.results).toHaveLength(3);
  expect(body.results[0].index).toBe(2);
  const scores = body.results.map((result: { relevance_score: number }) => result.relevance_score);
  expect(scores).toEqual([...scores].sort((one, other) => other - one));
});

test.each([
  ['names a document that is not there', { results: [{ index: 3, relevance_score: 1 }] }],
  ['names one twice', { results: [RESULTS[0], RESULTS[0]] }],
  ['has no scores', { results: [{ index: 0, relevance_score: 'high' }] }],
  ['is empty', { results: [] }],
])('neither passes on nor charges an answer that %s', async (_, body) => {
  upstream.body = body;
  expect(await rerank({})).toMatchObject({ status: 502, body: { error: { code: 'provider_error' } } });
  expect(gateway.ledger.settlements.at(-1)).toMatchObject({ status: 'failed', charge: { amount: 0n } });
});

test.each([
  [{ model: 'chat' }, 'model_not_supported_on_endpoint'],
  [{ model: 'messages-only' }, 'invalid_parameter'],
  [{ query: '' }, 'invalid_parameter'],
  [{ query: 'x'.repeat(8_193) }, 'invalid_parameter'],
  [{ documents: [] }, 'invalid_parameter'],
  [{ documents: ['a', ''] }, 'invalid_parameter'],
  [{ documents: [{ image: 'x' }] }, 'invalid_parameter'],
  [{ documents: new Array(1_001).fill('a') }, 'invalid_parameter'],
  [{ top_n: 0 }, 'invalid_parameter'],
])('rejects %.60j', async (body, code) => {
  expect(await rerank(body)).toMatchObject({ status: 400, body: { error: { code } } });
  expect(upstream.asked).toEqual([]);
});

test('reports what it leaves out', async () => {
  const documents = TEXTS.map((text) => ({ text, title: 'a' }));
  const { status, headers } = await rerank({ rank_fields: ['text'], max_tokens_per_doc: 50, documents });
  expect([status, headers.get('x-ignored-parameters')]).toEqual([200, 'documents[].title, rank_fields']);
  expect(upstream.asked[0]?.body.max_tokens_per_doc).toBe(50);
});

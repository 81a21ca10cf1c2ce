import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { Gateway, model } from './gateway.ts';

/** Answers so large that they are only just passed on, or not any more. */

const MB = 1_048_576;
/** The largest batch of embeddings that OpenAI accepts, by its largest model. */
const TEXTS = 2_048;
const VECTOR = Buffer.alloc(3_072 * 4, 7).toString('base64');
const USAGE = { prompt_tokens: 20, completion_tokens: 90, total_tokens: 110 };

let provider: Server;
let gateway: Gateway;
let asked: string[] = [];

function* vectors(count: number): Generator<string> {
  yield '{"object":"list","data":[';
  for (let index = 0; index < count; index += 1) {
    yield `${index > 0 ? ',' : ''}{"object":"embedding","index":${index},"embedding":"${VECTOR}"}`;
  }
  yield `],"usage":{"prompt_tokens":${count * 3},"total_tokens":${count * 3}}}`;
}

function* longAnswer(): Generator<string> {
  yield '{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"logprobs":{"content":["';
  for (let written = 0; written < 49; written += 1) {
    yield 'x'.repeat(MB);
  }
  yield `"]},"finish_reason":"stop"}],"usage":${JSON.stringify(USAGE)},"system_fingerprint":"fp_1"}`;
}

beforeAll(async () => {
  provider = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString());
      asked.push(body.model);
      response.writeHead(200, { 'content-type': 'application/json' });
      const answer = request.url === '/v1/embeddings' ? vectors(body.input.length) : longAnswer();
      Readable.from(answer).pipe(response);
    });
  });
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  const base_url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}/v1`;
  const routes = ['first', 'second'].map((name) => ({ provider: 'long', model: name }));
  gateway = await Gateway.start({
    providers: [{ id: 'long', protocol: 'openai', base_url }],
    models: [
      model('long', routes),
      model('other', [{ provider: 'long', model: 'other' }]),
      model('embed', [{ provider: 'long', model: 'embed' }], { endpoints: ['embeddings'] }),
    ],
  });
});

beforeEach(() => {
  asked = [];
});

afterAll(async () => {
  await gateway?.close();
  provider?.closeAllConnections();
  await new Promise((resolve) => provider?.close(resolve) ?? resolve(undefined));
});

function post(path: string, body: object): Promise<Response> {
  return fetch(gateway.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

test('embeds as many texts as OpenAI does, by its largest model', async () => {
  const input = Array(TEXTS).fill('a text');
  const response = await post('/api/v1/embeddings', { model: 'embed', input, encoding_format: 'base64' });
  expect(response.status).toBe(200);
  const { data } = (await response.json()) as { data: { embedding: string }[] };
  expect(data).toHaveLength(TEXTS);
  expect(data.at(-1)?.embedding).toBe(VECTOR);
  expect(gateway.ledger.last.usage.inputTokens).toBe(TEXTS * 3);
});

test('an answer that is too long is charged as reported, and nobody is asked again', async () => {
  // the allowance is used up
  gateway.ledger.waived = 100_000_000n;
  const messages = [{ role: 'user', content: 'hello' }];
  const response = await post('/api/v1/chat/completions', {
    ...{ model: 'long', models: ['other'], messages, max_tokens: 100, logprobs: true, top_logprobs: 20 },
  });
  expect(response.status).toBe(502);
  expect(response.headers.get('x-should-retry')).toBe('false');
  const { error } = (await response.json()) as { error: { code: string; message: string } };
  expect(error.code).toBe('provider_error');
  expect(error.message).toContain('larger than 48 MB');
  expect(asked).toEqual(['first']);
  expect(gateway.ledger.last.usage).toMatchObject({ inputTokens: 20, outputTokens: 90 });
  expect(gateway.ledger.last.charge.amount).toBeGreaterThan(0n);
});

import OpenAI from 'openai';
import { costCeiling, ONE_CALL } from '../../src/catalog/pricing.ts';
import { parseUsd } from '../../src/lib/money.ts';
import { countTokens } from '../../src/providers/token-counter.ts';
import { eventually } from '../factories/eventually.ts';
import { startAnthropicUpstream } from '../factories/upstream-anthropic.ts';
import { startOpenAiUpstream } from '../factories/upstream-openai.ts';
import type { UpstreamServer } from '../factories/upstream-server.ts';
import { Gateway, model, prices, SIMPLE_PRICES } from './gateway.ts';
import { receivedText } from './received-text.ts';

let openai: UpstreamServer;
let anthropic: UpstreamServer;
let gateway: Gateway;

beforeEach(async () => {
  openai = await startOpenAiUpstream();
  anthropic = await startAnthropicUpstream();
  gateway = await Gateway.start({
    providers: [
      { id: 'openai', protocol: 'openai', base_url: openai.url, on_disconnect: 'abort' },
      { id: 'anthropic', protocol: 'anthropic', base_url: anthropic.url },
    ],
    models: [
      model('to/openai', [{ provider: 'openai', model: 'gpt', pricing: prices('0.0000005', '0.000001') }]),
      model('to/anthropic', [{ provider: 'anthropic', model: 'claude' }], {
        pricing: prices('0.000001', '0.000002', {
          input_cache_read: '0.0000001',
          input_cache_write: '0.00000125',
        }),
      }),
      model('small', [{ provider: 'openai', model: 'gpt' }], { contextLength: 200, maxOutputTokens: 100 }),
      model('images/only', [{ provider: 'openai', model: 'gpt' }], { endpoints: ['image'] }),
    ],
  });
});

afterEach(async () => {
  const held = gateway?.ledger.held ?? 0n;
  await gateway?.close();
  await openai?.close();
  await anthropic?.close();
  expect(held).toBe(0n);
});

async function post(body: object, headers: Record<string, string> = {}) {
  const response = await fetch(`${gateway.url}/api/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'to/openai', messages: [{ content: 'hello' }], ...body }),
  });
  const text = await receivedText(response);
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of many shapes
  const json: any = text.startsWith('{') ? JSON.parse(text) : undefined;
  return { status: response.status, headers: response.headers, text, json };
}

test('holds the counted input and the cap, charges the real usage and releases the rest', async () => {
  const { json } = await post({ max_tokens: 50 });
  const [request] = gateway.ledger.requests;
  const input = Number((request!.amount - 50n * 2_000n) / 1_000n);
  expect(input).toBeGreaterThanOrEqual(countTokens('hello') + 4);
  expect(input).toBeLessThan(40);
  expect(request!.minimum).toBe(request!.amount);
  expect(openai.last.body.max_tokens).toBe(50);
  expect(json.usage).toEqual({
    input_tokens: 20,
    output_tokens: 9,
    total_tokens: 29,
    cache_read_tokens: 0,
    cache_write_tokens: 0,
    reasoning_tokens: 0,
    prompt_tokens: 20,
    completion_tokens: 9,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0 },
    cost: 0.000038,
  });
  expect(gateway.ledger.last.charge).toEqual({ amount: 38_000n, lines: { input: 20_000n, output: 18_000n } });
  expect(gateway.ledger.last.providerCost).toBe(19_000n);
  expect(gateway.ledger.last.attempts).toMatchObject([{ provider: 'openai', outcome: 'ok', cost: '19000' }]);
});

test('charges cache reads and writes at their own prices, on both endpoints of an Anthropic provider', async () => {
  anthropic.reset({ cacheRead: 1_000, cacheWrite: 500 });
  const { json } = await post({ model: 'to/anthropic' });
  expect(json.usage).toMatchObject({
    input_tokens: 1_520,
    cache_read_tokens: 1_000,
    cache_write_tokens: 500,
  });
  expect(gateway.ledger.last.charge.lines).toEqual({
    input: 20_000n,
    cache_read: 100_000n,
    cache_write: 625_000n,
    output: 18_000n,
  });
  const streamed = await post({ model: 'to/anthropic', stream: true });
  expect(streamed.text).toContain('"cache_read_tokens":1000');
  expect(gateway.ledger.last.charge.lines.cache_read).toBe(100_000n);
});

test('clamps the answer on a small balance without max_tokens instead of rejecting the call', async () => {
  gateway.ledger.balance = parseUsd('0.0001')!;
  const { status, json, headers } = await post({});
  expect(status).toBe(200);
  const cap = Number(headers.get('x-max-tokens-clamped'));
  expect(cap).toBeGreaterThanOrEqual(16);
  expect(cap).toBeLessThan(50);
  expect(openai.last.body.max_tokens).toBe(cap);
  expect(json.choices[0].finish_reason).toBe('stop');
  openai.reset({ words: Array.from({ length: 200 }, () => ' word') });
  gateway.ledger.balance = parseUsd('0.0001')!;
  const long = await post({});
  expect(long.json.choices[0].finish_reason).toBe('length');
  expect(gateway.ledger.balance).toBeGreaterThanOrEqual(0n);
});

test('rejects a hold that is not affordable with max_tokens, and asks no provider', async () => {
  gateway.ledger.balance = parseUsd('0.0001')!;
  const { status, json } = await post({ max_tokens: 4_000 });
  expect(status).toBe(402);
  expect(json.error).toMatchObject({ code: 'insufficient_credits', type: 'billing_error' });
  expect(openai.requests).toHaveLength(0);
});

test('rejects even an open cap below the floor', async () => {
  gateway.ledger.balance = parseUsd('0.00003')!;
  expect((await post({})).status).toBe(402);
  expect(openai.requests).toHaveLength(0);
});

test('limits one call by x-max-cost', async () => {
  openai.reset({ words: Array.from({ length: 500 }, () => ' word') });
  const { status, headers, json } = await post({}, { 'x-max-cost': '0.0001' });
  expect(status).toBe(200);
  expect(Number(headers.get('x-max-tokens-clamped'))).toBeLessThan(50);
  expect(json.choices[0].finish_reason).toBe('length');
  expect(gateway.ledger.requests.at(-1)!.amount).toBe(100_000n);
  expect(gateway.ledger.last.charge.amount).toBeLessThanOrEqual(100_000n);
  const tight = await post({}, { 'x-max-cost': '0.00001' });
  expect(tight).toMatchObject({ status: 402, json: { error: { code: 'max_cost_exceeded' } } });
  expect(tight.json.error.message).toContain('x-max-cost');
  for (const bad of ['-1', '1e-3', 'free', '0.0000000001']) {
    expect(await post({}, { 'x-max-cost': bad })).toMatchObject({
      status: 400,
      json: { error: { code: 'invalid_parameter' } },
    });
  }
});

test('changes nothing for an ample x-max-cost', async () => {
  const { headers } = await post({ max_tokens: 10 }, { 'x-max-cost': '5' });
  expect(headers.get('x-max-tokens-clamped')).toBeNull();
});

test('rejects text longer than the context, and shrinks caps to the room that is left', async () => {
  const long = await post({ model: 'small', messages: [{ content: 'word '.repeat(250) }] });
  expect(long).toMatchObject({ status: 400, json: { error: { code: 'context_length_exceeded' } } });
  const tight = await post({
    model: 'small',
    messages: [{ content: 'word '.repeat(150) }],
    max_tokens: 5_000,
  });
  expect(tight.status).toBe(200);
  expect(openai.last.body.max_tokens).toBeLessThanOrEqual(50);
  expect(tight.headers.get('x-max-tokens-clamped')).toBe(String(openai.last.body.max_tokens));
});

test('rejects a model of another kind and an unknown model', async () => {
  expect(await post({ model: 'images/only' })).toMatchObject({
    status: 400,
    json: { error: { code: 'model_not_supported_on_endpoint' } },
  });
  expect(await post({ model: 'no/such' })).toMatchObject({
    status: 404,
    json: { error: { code: 'model_not_found' } },
  });
});

test('commits the charge before it writes the chunks with finish and usage', async () => {
  openai.reset({ tokenDelayMs: 2 });
  const client = new OpenAI({ apiKey: 'k', baseURL: `${gateway.url}/api/v1` });
  const stream = await client.chat.completions.create({
    model: 'to/openai',
    stream: true,
    messages: [{ role: 'user', content: 'x' }],
  });
  for await (const chunk of stream) {
    const last = chunk.usage ?? chunk.choices[0]?.finish_reason;
    expect(gateway.ledger.settlements).toHaveLength(last ? 1 : 0);
  }
  expect(gateway.ledger.settlements).toHaveLength(1);
});

test.each([false, true])(
  'reports no success when a charge cannot be committed (stream: %s)',
  async (stream) => {
    gateway.ledger.failSettle = true;
    const { status, text } = await post({ stream });
    gateway.ledger.failSettle = false;
    gateway.ledger.holds.clear();
    expect(text).toContain('service_unavailable');
    expect(text).not.toContain('[DONE]');
    expect(status).toBe(stream ? 200 : 503);
  },
);

test('always lets the ledger know what a running stream has used', async () => {
  openai.reset({ tokenDelayMs: 30 });
  const pending = post({ stream: true });
  await eventually(async () => gateway.ledger.metered.size === 1);
  const [metered] = gateway.ledger.metered.values();
  expect(metered!().charge.amount).toBe(0n);
  await eventually(async () => (metered!().usage.outputTokens ?? 0) >= 3);
  const { charge, usage } = metered!();
  expect(charge.amount).toBe(BigInt(usage.inputTokens) * 1_000n + BigInt(usage.outputTokens) * 2_000n);
  await pending;
});

test('extends the hold, or ends the answer, when a provider counts more input than was held', async () => {
  anthropic.reset({ cacheRead: 50_000, tokenDelayMs: 1 });
  await post({ model: 'to/anthropic', stream: true, max_tokens: 50 });
  expect(gateway.ledger.extensions.length).toBeGreaterThan(0);
  expect(gateway.ledger.last).toMatchObject({ shortfall: 0n, finishReason: 'stop' });
  anthropic.reset({ cacheRead: 50_000, tokenDelayMs: 1 });
  gateway.ledger.balance = parseUsd('0.0005')!;
  const { text } = await post({ model: 'to/anthropic', stream: true, max_tokens: 50 });
  expect(text).toContain('"finish_reason":"length"');
  expect(text).toContain('[DONE]');
  expect(gateway.ledger.last.shortfall).toBeGreaterThan(0n);
  expect(gateway.ledger.balance).toBeGreaterThanOrEqual(0n);
});

test('waits in a drain, then ends streams with an error event and settles what was delivered', async () => {
  openai.reset({ words: Array.from({ length: 200 }, () => ' word'), tokenDelayMs: 20 });
  const pending = post({ stream: true });
  await eventually(async () => openai.requests.length === 1);
  await gateway.service.drain(250);
  const { text } = await pending;
  expect(text).toContain('"code":"service_unavailable"');
  expect(text).not.toContain('[DONE]');
  const { status, usage, charge, error } = gateway.ledger.last;
  expect({ status, error }).toMatchObject({ status: 'cancelled', error: { code: 'service_unavailable' } });
  expect(usage.outputTokens).toBe(text.match(/" word"/g)?.length);
  expect(charge.amount).toBeGreaterThan(0n);
  expect((await post({})).status).toBe(503);
});

test('admits fifty of two hundred calls at once on the money for fifty', async () => {
  openai.reset({ fault: 'hang_before_headers' });
  const body = { max_tokens: 4_096 };
  const ceiling = costCeiling(0, 4_096, ONE_CALL, SIMPLE_PRICES);
  gateway.ledger.balance = ((ceiling + 20_000n) * 50n) as typeof gateway.ledger.balance;
  const controller = new AbortController();
  let refused = 0;
  const calls = Array.from({ length: 200 }, () =>
    fetch(`${gateway.url}/api/v1/chat/completions`, {
      method: 'POST',
      signal: controller.signal,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'to/openai', messages: [{ content: 'hello' }], ...body }),
    }).then(
      (response) => {
        refused += response.status === 402 ? 1 : 0;
      },
      () => undefined,
    ),
  );
  await eventually(async () => openai.requests.length >= 50 && refused >= 150, 10_000);
  controller.abort();
  await Promise.all(calls);
  expect(openai.requests).toHaveLength(50);
  expect(refused).toBe(150);
  await eventually(async () => gateway.ledger.held === 0n);
});

import { startAnthropicUpstream } from '../factories/upstream-anthropic.ts';
import { startOpenAiUpstream } from '../factories/upstream-openai.ts';
import type { UpstreamServer } from '../factories/upstream-server.ts';
import { Gateway, model, prices } from './gateway.ts';

/** A caller's own list of models: held at the most expensive, charged as the one that answers. */

let first: UpstreamServer;
let second: UpstreamServer;
let gateway: Gateway;

const CHEAP = prices('0.000001', '0.000002');
const DEAR = prices('0.00001', '0.00002');

beforeAll(async () => {
  first = await startOpenAiUpstream();
  second = await startAnthropicUpstream();
  gateway = await Gateway.start({
    providers: [
      { id: 'first', protocol: 'openai', base_url: first.url },
      { id: 'second', protocol: 'anthropic', base_url: second.url },
    ],
    models: [
      model('cheap', [{ provider: 'first', model: 'gpt' }], { pricing: CHEAP }),
      model('dear', [{ provider: 'second', model: 'claude' }], { pricing: DEAR, priceVersion: 'prices-2' }),
      model('short', [{ provider: 'first', model: 'gpt-short' }], { contextLength: 20, maxOutputTokens: 10 }),
      model('embeds', [{ provider: 'first', model: 'vectors' }], { endpoints: ['embeddings'] }),
    ],
  });
});

beforeEach(() => {
  first.reset();
  second.reset();
});

afterAll(async () => {
  await gateway?.close();
  await first?.close();
  await second?.close();
});

async function ask(more: object, path = '/api/v1/chat/completions') {
  const response = await fetch(gateway.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'cheap',
      ...(path.endsWith('responses')
        ? { input: 'hello' }
        : { messages: [{ content: 'hello' }], max_tokens: 100 }),
      ...more,
    }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text };
}

function lastCharge() {
  const { charge, served, status } = gateway.ledger.last;
  return { amount: charge.amount, served, status };
}

test('names and charges the first model that answers, and holds for the most expensive', async () => {
  const alone = await ask({ models: ['cheap', 'dear'] });
  expect(JSON.parse(alone.text)).toMatchObject({ model: 'cheap' });
  const cheap = lastCharge();
  expect(cheap.served).toBeUndefined();

  const held = gateway.ledger.requests.at(-1)!;
  expect(held.model).toBe('cheap');
  await ask({ model: 'dear' });
  expect(held.amount).toBe(gateway.ledger.requests.at(-1)?.amount);
  const dear = lastCharge();

  first.reset({ fault: 'server_error' });
  const fallen = await ask({ models: ['dear'] });
  expect(fallen.status).toBe(200);
  expect(JSON.parse(fallen.text)).toMatchObject({ model: 'dear' });
  expect(lastCharge()).toEqual({ ...dear, served: { model: 'dear', priceVersion: 'prices-2' } });
  expect(gateway.ledger.last.attempts.map(({ provider, outcome }) => `${provider} ${outcome}`)).toEqual([
    'first failed',
    'first failed',
    'second ok',
  ]);
});

test('falls back before the first byte in a stream and in Responses', async () => {
  first.reset({ fault: 'bad_request' });
  const stream = await ask({ models: ['dear'], stream: true });
  expect(stream.text).toContain('"model":"dear"');
  expect(stream.text).toContain('data: [DONE]');
  expect(lastCharge()).toMatchObject({ served: { model: 'dear' }, status: 'completed' });
  const response = await ask({ models: ['dear'] }, '/api/v1/responses');
  expect(JSON.parse(response.text)).toMatchObject({ model: 'dear', status: 'completed' });
});

test('does not restart a broken-off answer with another model', async () => {
  first.reset({ fault: 'reset_mid_stream' });
  await expect(ask({ models: ['dear'], stream: true })).rejects.toThrow('terminated');
  expect(second.requests).toEqual([]);
});

test('reports the last failure when all fail, and charges nothing', async () => {
  first.reset({ fault: 'server_error' });
  second.reset({ fault: 'rate_limit' });
  const { status, text } = await ask({ models: ['dear'] });
  expect([status, JSON.parse(text).error.code]).toEqual([429, 'provider_rate_limited']);
  expect(lastCharge()).toMatchObject({ amount: 0n, status: 'failed' });
});

test('skips a model whose context is too short, unless all are', async () => {
  const long = { messages: [{ content: 'word '.repeat(60) }] };
  const passed = await ask({ ...long, model: 'short', models: ['dear'] });
  expect(JSON.parse(passed.text)).toMatchObject({ model: 'dear' });
  const { status, text } = await ask({ ...long, model: 'short', models: ['short'] });
  expect([status, JSON.parse(text).error.code]).toEqual([400, 'context_length_exceeded']);
});

test.each([
  [{ models: ['nobody'] }, 'model_not_found'],
  [{ models: ['embeds'] }, 'model_not_supported_on_endpoint'],
  [{ models: 'dear' }, 'invalid_parameter'],
  [{ models: Array.from({ length: 9 }, () => 'dear') }, 'invalid_parameter'],
])('rejects the request, whichever member is wrong: %j', async (body, code) => {
  expect(JSON.parse((await ask(body)).text).error.code).toBe(code);
});

import fc from 'fast-check';
import { formatUsd, parseUsd } from '../../src/lib/money.ts';
import { anyCharacter } from '../factories/any-character.ts';
import { startOpenAiUpstream } from '../factories/upstream-openai.ts';
import type { UpstreamServer } from '../factories/upstream-server.ts';
import { Gateway, type GatewayOptions, model } from './gateway.ts';
import { MemoryLedger } from './memory-ledger.ts';
import { receivedText } from './received-text.ts';

/** The estimate before a call equals the hold for it. */

const CHAT = '/api/v1/chat/completions';
const MESSAGES = '/vendorx/v1/messages';
const SEED = Number(process.env.ESTIMATE_SEED ?? 4);
const CASES = Number(process.env.ESTIMATE_CASES ?? 60);

let openai: UpstreamServer;
let gateway: Gateway;

const start = async (books?: GatewayOptions['books'], typicalTokens?: number) => {
  gateway = await Gateway.start({
    providers: [{ id: 'openai', protocol: 'openai', base_url: openai.url }],
    models: [
      model('one', [{ provider: 'openai', model: 'gpt' }]),
      model('dear', [{ provider: 'openai', model: 'gpt' }], { maxOutputTokens: 8_192 }),
      model('short', [{ provider: 'openai', model: 'gpt' }], { contextLength: 50 }),
    ],
    ...(books && { books }),
    ...(typicalTokens !== undefined && { typicalTokens }),
  });
};

beforeEach(async () => {
  openai = await startOpenAiUpstream();
});
afterEach(async () => {
  await gateway?.close();
  await openai?.close();
});

async function post(path: string, body: object, headers: Record<string, string> = {}) {
  const response = await fetch(gateway.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  return { status: response.status, json: JSON.parse(await receivedText(response)) };
}

const estimate = (request: object, endpoint = CHAT, headers = {}) =>
  post('/api/v1/estimates', { endpoint, request }, headers);

const order = fc.record({
  endpoint: fc.constantFrom(CHAT, MESSAGES),
  text: fc.string({ maxLength: 400, unit: anyCharacter }),
  max: fc.integer({ min: 1, max: 9_000 }),
  models: fc.constantFrom({ model: 'one' }, { model: 'one', models: ['dear'] }, { model: 'dear' }),
  cost: fc.option(fc.integer({ min: 0, max: 20_000_000 }), { nil: undefined }),
});

test('reports the hold as the maximum, to the nano-dollar, whatever the request', async () => {
  await start();
  await fc.assert(
    fc.asyncProperty(order, async ({ endpoint, text, max, models, cost }) => {
      const headers = cost === undefined ? undefined : { 'x-max-cost': (cost / 1e9).toFixed(9) };
      const request = { ...models, max_tokens: max, messages: [{ role: 'user', content: text }] };
      const told = await estimate(request, endpoint, headers);
      const before = gateway.ledger.requests.length;
      const called = await post(endpoint, request, headers);
      const held = gateway.ledger.requests[before];
      // rejected for the same reason, or held as reported
      expect([told.status, told.json.data?.max_amount]).toEqual(
        held ? [200, formatUsd(held.amount)] : [called.status, undefined],
      );
      const lines = Object.values<string>(told.json.data?.lines ?? {}).map((line) => parseUsd(line)!);
      expect(lines.reduce((sum, line) => sum + line, 0n)).toBe(held?.amount ?? 0n);
      expect(told.json.error?.code).toBe(held ? undefined : called.json.error.code);
    }),
    { numRuns: CASES, seed: SEED },
  );
});

test('holds nothing, asks no provider and charges nothing', async () => {
  await start();
  const { json } = await estimate({
    model: 'one',
    max_tokens: 50,
    messages: [{ role: 'user', content: 'hello' }],
  });
  expect(json.data).toEqual({
    model: 'one',
    input_tokens: expect.any(Number),
    output_tokens_max: 50,
    max_amount: expect.stringMatching(/^0\.\d+$/),
    lines: { input: expect.any(String), output: '0.0001' },
    expected_amount: null,
    affordable: true,
    currency: 'USD',
  });
  expect([gateway.ledger.requests.length, openai.requests.length]).toEqual([0, 0]);
});

test('expects the input as counted, and an answer of the usual length or shorter if capped', async () => {
  await start(undefined, 20);
  const messages = [{ role: 'user', content: 'hello' }];
  const { data } = (await estimate({ model: 'one', max_tokens: 50, messages })).json;
  // 1,000 nano-USD per input token, 2,000 per output token
  expect(parseUsd(data.expected_amount)).toBe(BigInt(data.input_tokens) * 1_000n + 20n * 2_000n);
  const shorter = (await estimate({ model: 'one', max_tokens: 5, messages })).json.data;
  expect(parseUsd(shorter.expected_amount)).toBe(BigInt(data.input_tokens) * 1_000n + 5n * 2_000n);
});

test('reports a shorter answer or a call that is not affordable when credits are short', async () => {
  const caller = { accountId: 'account', apiKeyId: 'key', allowedModels: null };
  const spendable = parseUsd('0.0002')!;
  await start({ ledger: new MemoryLedger(spendable), caller: { ...caller, spendable } });
  const messages = [{ role: 'user', content: 'hello' }];
  const open = (await estimate({ model: 'one', messages })).json.data;
  expect([open.max_amount, open.affordable]).toEqual(['0.0002', true]);
  expect(open.output_tokens_max).toBeLessThan(100);
  const capped = (await estimate({ model: 'one', messages, max_tokens: 1_000 })).json.data;
  expect([capped.affordable, capped.output_tokens_max]).toEqual([false, 1_000]);
});

test('reports the error the call would be rejected with', async () => {
  await start();
  const messages = [{ role: 'user', content: 'hello '.repeat(200) }];
  const codes = [
    (await estimate({ model: 'none', messages })).json.error.code,
    (await estimate({ model: 'short', messages })).json.error.code,
    (await estimate({ model: 'one' })).json.error.code,
  ];
  expect(codes).toEqual(['model_not_found', 'context_length_exceeded', 'invalid_parameter']);
});

import { request } from 'node:http';
import fc from 'fast-check';
import { costCeiling, ONE_CALL } from '../../src/catalog/pricing.ts';
import { parseUsd } from '../../src/lib/money.ts';
import { Gateway, model, SIMPLE_PRICES } from './gateway.ts';
import { HonestProvider, ITEM_TOKENS } from './honest-provider.ts';
import { until } from './until.ts';

/**
 * Whatever a tenant sends, and whenever it hangs up: the call is refused before the provider was asked, or pays at least 95 % of
 * what the provider's own count is worth at our prices, or the caller's X-Max-Cost with the rest written off.
 */

const CASES = Number(process.env.METERING_CASES ?? 2_000);
const AT_ONCE = 8;

let provider: HonestProvider;
let gateways: Gateway[];

beforeAll(async () => {
  provider = await new HonestProvider().start();
  const route = (context: number) => [{ provider: 'honest', model: String(context) }];
  const bounded = { inputModalities: ['text', 'image', 'file', 'video', 'audio'], itemTokens: ITEM_TOKENS };
  gateways = await Promise.all(
    Array.from({ length: AT_ONCE }, () =>
      Gateway.start({
        providers: [
          {
            id: 'honest',
            protocol: 'openai',
            base_url: provider.url,
            pass_through: ['documents', 'chat_template_kwargs'],
          },
        ],
        models: [
          model('bounded', route(50_000), { ...bounded, contextLength: 50_000 }),
          model('unbounded', route(12_000), { ...bounded, itemTokens: {}, contextLength: 12_000 }),
          model('text', route(100_000), { inputModalities: ['text'], itemTokens: {} }),
        ],
      }),
    ),
  );
});

afterAll(async () => {
  await Promise.all((gateways ?? []).map((gateway) => gateway.close()));
  await provider?.close();
});

const LONG = 'the quick brown fox jumps over the lazy dog '.repeat(60);
const text = fc.oneof(
  fc.constantFrom(
    '',
    'hi',
    LONG,
    LONG.repeat(4),
    '条约是在双方多年耐心工作之后',
    '{"a":[1,2]}'.repeat(40),
    'x9Kq'.repeat(200),
  ),
  fc.string({ maxLength: 40 }),
);
const type = fc.constantFrom(
  'text',
  'image',
  'image_url',
  'tool_use',
  'document',
  'file',
  'tool_result',
  'odd',
);
const oddMembers = fc.dictionary(
  fc.constantFrom('type', 'id', 'documents', 'input', 'x', 'annotations', 'tool_call_id', 'name'),
  text,
  { maxKeys: 1 },
);
const part = fc.oneof(
  { weight: 12, arbitrary: fc.record({ type: fc.constant('text'), text }) },
  fc.record({
    type: fc.constant('image_url'),
    image_url: fc.record({ url: fc.constantFrom('https://x.example/a.png', 'data:image/png;base64,AAAA') }),
  }),
  fc.record({
    type: fc.constant('file'),
    file: fc.record({
      file_data: fc.constantFrom('data:application/pdf;base64,JVBE', 'https://x.example/y.pdf'),
    }),
  }),
  fc.record({ type: fc.constant('file'), file: fc.record({ file_id: text }) }),
  fc.record({
    type: fc.constant('video_url'),
    video_url: fc.record({ url: fc.oneof(text, fc.constant('https://x.example/v.mp4')) }),
  }),
  fc.record({
    type: fc.constant('input_audio'),
    input_audio: fc.record({ data: fc.constant('AAAA'), format: fc.constant('wav') }),
  }),
  fc.record({
    type,
    text,
    source: fc.record({
      type: fc.constantFrom('url', 'text', 'base64', 'file'),
      data: text,
      media_type: text,
    }),
  }),
);
const message = fc.tuple(
  fc.record({
    role: fc.constantFrom('user', 'assistant', 'system', 'tool', 'developer'),
    content: fc.oneof(
      { weight: 2, arbitrary: text },
      { weight: 2, arbitrary: fc.array(part, { minLength: 1, maxLength: 3 }) },
    ),
  }),
  oddMembers,
);
const call = fc.record({
  messages: fc.array(message, { minLength: 1, maxLength: 4 }),
  modelId: fc.constantFrom('bounded', 'bounded', 'unbounded', 'text'),
  stream: fc.boolean(),
  max_tokens: fc.option(fc.integer({ min: 1, max: 400 }), { nil: undefined }),
  more: fc
    .record(
      {
        n_predict: fc.constant(20_000),
        min_tokens: fc.constant(300),
        priority: fc.constant(-5),
        unknown: fc.oneof(text, fc.record({ a: text })),
        extra_body: fc.record({ documents: text }),
        chat_template: text,
        chat_template_kwargs: fc.record({ a: text }),
        documents: fc.array(fc.record({ text }), { maxLength: 2 }),
        functions: fc.array(fc.record({ name: text, description: text }), { minLength: 1, maxLength: 2 }),
        stop: fc.array(text, { maxLength: 2 }),
        metadata: fc.record({ a: text }),
        logit_bias: fc.dictionary(text, fc.constant(1), { maxKeys: 1 }),
        response_format: fc.record({
          type: fc.constant('json_schema'),
          json_schema: fc.record({ name: text }),
        }),
        tools: fc.array(
          fc.record({
            type: fc.constant('function'),
            function: fc.record({ name: fc.constant('f'), description: text }),
          }),
          { minLength: 1, maxLength: 2 },
        ),
        prompt_cache_key: text,
        seed: fc.oneof(fc.constant(7), text),
      },
      { requiredKeys: [] },
    )
    .map((members) => Object.fromEntries(Object.entries(members).filter((_, index) => index % 4 === 0))),
  maxCost: fc.option(fc.constantFrom('0.0002', '0.002', '0.02'), { nil: undefined }),
  balance: fc.constantFrom('0.003', '0.01', '1', '1', '1'),
  /** Bytes of the answer after which the client hangs up. */
  leaveAfter: fc.option(fc.integer({ min: 0, max: 3_000 }), { nil: undefined }),
});
type Call = typeof call extends fc.Arbitrary<infer Value> ? Value : never;

let numbers = 0;
const writeOffs = { aboveHold: 0n, aboveMaxCost: 0n, due: 0n, refused: 0, served: 0 };

async function make(gateway: Gateway, one: Call): Promise<void> {
  numbers += 1;
  const user = `call-${numbers}`;
  const { ledger } = gateway;
  ledger.balance = parseUsd(one.balance)!;
  const before = ledger.settlements.length;
  const messages = one.messages.map(([said, odd]) => ({ ...odd, ...said }));
  const { modelId, stream, max_tokens } = one;
  const body = JSON.stringify({ ...one.more, model: modelId, stream, max_tokens, messages, user });
  await send(`${gateway.url}/api/v1/chat/completions`, body, one);
  const bill = () => provider.bills.get(user);
  await until(
    () => ledger.held === 0n && (bill() === undefined || ledger.settlements.length > before),
    20_000,
  );
  const billed = bill();
  if (!billed) {
    writeOffs.refused += 1;
    return;
  }
  provider.bills.delete(user);
  writeOffs.served += 1;
  const { charge, shortfall, beyondMaxCost } = ledger.last;
  writeOffs.due += ledger.last.due;
  writeOffs.aboveHold += shortfall - beyondMaxCost;
  writeOffs.aboveMaxCost += beyondMaxCost;
  const worth = costCeiling(billed.input, billed.output, ONE_CALL, SIMPLE_PRICES);
  const most = one.maxCost === undefined ? undefined : parseUsd(one.maxCost)!;
  if (most !== undefined && charge.amount === most) {
    expect(charge.amount + shortfall).toBeGreaterThanOrEqual((worth * 95n) / 100n);
    return;
  }
  if (charge.amount < (worth * 95n) / 100n) {
    const { status, usage, usageSource, error, attempts } = ledger.last;
    const told = {
      worth,
      billed,
      charged: charge.amount,
      shortfall,
      status,
      usage,
      usageSource,
      error,
      attempts,
      one,
    };
    throw new Error(JSON.stringify(told, (_, value) => (typeof value === 'bigint' ? `${value}` : value)));
  }
}

/** Sends a call, and hangs up after so many bytes of the answer. */
function send(url: string, body: string, { maxCost, leaveAfter }: Call): Promise<void> {
  return new Promise((resolve) => {
    const headers = { 'content-type': 'application/json', ...(maxCost && { 'x-max-cost': maxCost }) };
    const sent = request(url, { method: 'POST', headers, agent: false }, (response) => {
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (leaveAfter !== undefined && bytes >= leaveAfter) {
          sent.destroy();
        }
      });
      response.on('close', resolve);
      response.on('error', () => resolve());
    });
    sent.on('error', () => resolve());
    sent.end(body);
    if (leaveAfter !== undefined && leaveAfter < 20) {
      setTimeout(() => sent.destroy(), leaveAfter);
    }
  });
}

test(`${CASES} calls of every shape: refused, or paid by the provider's own count`, async () => {
  const seed = Number(process.env.METERING_SEED ?? Math.floor(Math.random() * 2 ** 31));
  await Promise.all(
    gateways.map((gateway, index) =>
      fc.assert(
        fc.asyncProperty(call, (one) => make(gateway, one)),
        { numRuns: Math.ceil(CASES / AT_ONCE), seed: seed + index, endOnFailure: true },
      ),
    ),
  );
  if (process.env.METERING_CASES) {
    process.stdout.write(
      `${JSON.stringify(writeOffs, (_, value) => (typeof value === 'bigint' ? `${value}` : value))}\n`,
    );
  }
  expect(writeOffs.served).toBeGreaterThan(CASES / 5);
  expect(writeOffs.refused).toBeGreaterThan(CASES / 10);
}, 3_600_000);

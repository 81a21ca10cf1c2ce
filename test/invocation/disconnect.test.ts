import { parsePublicId } from '../../src/lib/ids.ts';
import { countTokens } from '../../src/providers/token-counter.ts';
import { startAnthropicUpstream } from '../factories/upstream-anthropic.ts';
import { startOpenAiUpstream } from '../factories/upstream-openai.ts';
import type { UpstreamServer } from '../factories/upstream-server.ts';
import { Gateway, model } from './gateway.ts';
import { until } from './until.ts';

/** Each is one token of o200k_base after the first. */
const WORDS = Array.from({ length: 60 }, (_, index) => [' alpha', ' river', ' stone', ' cloud'][index % 4]!);

let openai: UpstreamServer;
let anthropic: UpstreamServer;
let gateway: Gateway;

beforeAll(async () => {
  openai = await startOpenAiUpstream();
  anthropic = await startAnthropicUpstream();
  gateway = await Gateway.start({
    providers: [
      { id: 'openai', protocol: 'openai', base_url: openai.url },
      { id: 'anthropic', protocol: 'anthropic', base_url: anthropic.url },
      { id: 'drained', protocol: 'openai', base_url: openai.url, on_disconnect: 'drain' },
      { id: 'builtin', protocol: 'builtin', token_delay_ms: 5 },
    ],
    models: [
      model('to/openai', [{ provider: 'openai', model: 'gpt' }]),
      model('to/anthropic', [{ provider: 'anthropic', model: 'claude' }]),
      model('to/drained', [{ provider: 'drained', model: 'gpt' }]),
      model('to/builtin', [{ provider: 'builtin', model: 'builtin' }]),
    ],
    settings: { drainMs: 1_500 },
  });
});

afterAll(async () => {
  await gateway.close();
  await openai.close();
  await anthropic.close();
});

interface Reading {
  readonly generationId: string;
  readonly text: string;
  readonly leftAt: number;
}

/** Reads a stream for `ms` from its first byte, then hangs up; reports what had arrived. */
async function readFor(ms: number, modelId: string, path: 'chat' | 'messages'): Promise<Reading> {
  const controller = new AbortController();
  const url = path === 'chat' ? '/api/v1/chat/completions' : '/vendorx/v1/messages';
  const response = await fetch(gateway.url + url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: modelId,
      stream: true,
      max_tokens: 500,
      messages: [{ content: 'count to 50' }],
    }),
    signal: controller.signal,
  });
  const timer = setTimeout(() => controller.abort(), ms);
  const generationId = response.headers.get('x-generation-id')!;
  let raw = '';
  try {
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      raw += chunk;
    }
  } catch {
    // hung up
  }
  clearTimeout(timer);
  const texts = raw.matchAll(/"(?:content|text)":"((?:[^"\\]|\\.)*)"/g);
  return { generationId, text: [...texts].map((match) => match[1]).join(''), leftAt: Date.now() };
}

function settlementsSince(count: number) {
  return gateway.ledger.settlements.slice(count);
}

// One process plays client, gateway and provider: tokens are far enough apart for its event loop to lag behind a little.
test('500 streams closed at a random moment: every charge is what was delivered, upstream stops at once', async () => {
  openai.reset({ words: WORDS, tokenDelayMs: 400 });
  anthropic.reset({ words: WORDS, tokenDelayMs: 400 });
  const before = gateway.ledger.settlements.length;
  const cases = Array.from({ length: 500 }, (_, index) => ({
    path: index % 2 === 0 ? ('chat' as const) : ('messages' as const),
    modelId: index % 4 < 2 ? 'to/openai' : 'to/anthropic',
    ms: Math.random() * 8_000,
  }));
  const readings = await Promise.all(cases.map(({ ms, modelId, path }) => readFor(ms, modelId, path)));
  await until(() => settlementsSince(before).length === 500, 5_000);
  expect(gateway.ledger.held).toBe(0n);
  expect(gateway.ledger.metered.size).toBe(0);

  const charged = new Map(settlementsSince(before).map((one) => [one.holdId, one.usage.outputTokens]));
  const differences = readings.map((reading) => {
    const hold = parsePublicId('generation', reading.generationId)!;
    return charged.get(hold)! - countTokens(reading.text);
  });
  expect(differences.filter((difference) => !(Math.abs(difference) <= 1))).toEqual([]);
  for (const settlement of settlementsSince(before)) {
    const { usage, charge, status } = settlement;
    expect(status).toBe('cancelled');
    expect(charge.amount).toBe(BigInt(usage.inputTokens) * 1_000n + BigInt(usage.outputTokens) * 2_000n);
  }
  const lastLeft = Math.max(...readings.map((reading) => reading.leftAt));
  const requests = [...openai.requests, ...anthropic.requests];
  await until(() => requests.every((request) => request.abortedAt !== undefined), 1_000);
  expect(Math.max(...requests.map((request) => request.abortedAt ?? 0)) - lastLeft).toBeLessThan(1_000);
}, 60_000);

test('a drained provider is read to its own usage report', async () => {
  openai.reset({ words: WORDS, tokenDelayMs: 10 });
  const before = gateway.ledger.settlements.length;
  const reading = await readFor(300, 'to/drained', 'chat');
  await until(() => settlementsSince(before).length === 1, 5_000);
  expect(countTokens(reading.text)).toBeLessThan(50);
  expect(gateway.ledger.last).toMatchObject({
    status: 'cancelled',
    usageSource: 'provider',
    usage: { inputTokens: 20, outputTokens: 60 },
  });
  await until(() => openai.last.finished);
});

test('a drained provider that does not come to an end is given up', async () => {
  openai.reset({ words: WORDS, tokenDelayMs: 60, fault: 'hang_mid_stream' });
  const before = gateway.ledger.settlements.length;
  const reading = await readFor(600, 'to/drained', 'chat');
  await until(() => settlementsSince(before).length === 1, 5_000);
  expect(gateway.ledger.last).toMatchObject({ status: 'cancelled', usageSource: 'counted' });
  expect(Math.abs(gateway.ledger.last.usage.outputTokens - countTokens(reading.text))).toBeLessThanOrEqual(1);
  await until(() => openai.last.abortedAt !== undefined);
});

test('the builtin provider stops as well', async () => {
  const before = gateway.ledger.settlements.length;
  await readFor(150, 'to/builtin', 'chat');
  await until(() => settlementsSince(before).length === 1);
  expect(gateway.ledger.last).toMatchObject({ status: 'cancelled' });
  expect(gateway.ledger.last.usage.outputTokens).toBeLessThan(40);
});

test('a client that leaves after the last token has the whole answer, however its socket ended', async () => {
  openai.reset({ words: [' one'], fault: 'no_usage' });
  const before = gateway.ledger.settlements.length;
  await readFor(2_000, 'to/openai', 'chat');
  expect(settlementsSince(before)).toHaveLength(1);
  expect(gateway.ledger.last.status).toBe('completed');
});

import { parsePublicId } from '../../src/lib/ids.ts';
import { countTokens } from '../../src/providers/token-counter.ts';
import { eventually } from '../factories/eventually.ts';
import { startAnthropicUpstream } from '../factories/upstream-anthropic.ts';
import { startOpenAiUpstream } from '../factories/upstream-openai.ts';
import type { UpstreamServer } from '../factories/upstream-server.ts';
import { Gateway, model } from './gateway.ts';

/** Each one after the first is one token of o200k_base. */
const WORDS = Array.from({ length: 60 }, (_, index) => [' alpha', ' river', ' stone', ' cloud'][index % 4]!);

let openai: UpstreamServer;
let anthropic: UpstreamServer;
let gateway: Gateway;

beforeAll(async () => {
  openai = await startOpenAiUpstream();
  anthropic = await startAnthropicUpstream();
  gateway = await Gateway.start({
    providers: [
      { id: 'openai', protocol: 'openai', base_url: openai.url, on_disconnect: 'abort' },
      { id: 'anthropic', protocol: 'anthropic', base_url: anthropic.url, on_disconnect: 'abort' },
      { id: 'drained', protocol: 'openai', base_url: openai.url, on_disconnect: 'drain' },
      { id: 'builtin', protocol: 'builtin', token_delay_ms: 5, on_disconnect: 'abort' },
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
  await gateway?.close();
  await openai?.close();
  await anthropic?.close();
});

const WORD = / (?:alpha|river|stone|cloud)"/g;

interface Reading {
  readonly generationId: string;
  readonly text: string;
  readonly leftAt: number;
}

/** Reads a stream for `ms` from its first byte, then hangs up. Returns what had arrived. */
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

/** Lets the provider write a word only after the client has read the previous one, so no clock decides what was delivered. */
class Lockstep {
  #written = 0;
  #read = 0;
  #wake: () => void = () => undefined;

  async mayWrite(): Promise<void> {
    while (this.#written > this.#read) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#written += 1;
  }

  read(words: number): void {
    this.#read = words;
    this.#wake();
  }
}

interface Leaving {
  readonly user: string;
  readonly modelId: string;
  readonly path: 'chat' | 'messages';
  /** Number of words after which the client hangs up … */
  readonly words: number;
  /** … and how many ms later, reading on or not. */
  readonly afterMs: number;
  readonly readsOn: boolean;
}

/** Reads some words of a stream and hangs up. Returns how many had arrived and when it left. */
async function leave(
  leaving: Leaving,
  lockstep: Lockstep,
): Promise<{ hold: string; words: number; leftAt: number }> {
  const controller = new AbortController();
  const url = leaving.path === 'chat' ? '/api/v1/chat/completions' : '/vendorx/v1/messages';
  const named = leaving.path === 'chat' ? { user: leaving.user } : { metadata: { user_id: leaving.user } };
  const response = await fetch(gateway.url + url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      ...named,
      model: leaving.modelId,
      stream: true,
      max_tokens: 500,
      messages: [{ content: 'x' }],
    }),
    signal: controller.signal,
  });
  let raw = '';
  let words = 0;
  let leftAt = 0;
  try {
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      raw += chunk;
      words = raw.match(WORD)?.length ?? 0;
      if (words >= leaving.words && leftAt === 0) {
        leftAt = Date.now() + leaving.afterMs;
        setTimeout(() => controller.abort(), leaving.afterMs);
      }
      if (words < leaving.words || leaving.readsOn) {
        lockstep.read(words);
      }
    }
  } catch {
    // hung up
  }
  return { hold: parsePublicId('generation', response.headers.get('x-generation-id')!)!, words, leftAt };
}

test('charges what was delivered on each of 500 streams closed at a random moment, and stops the upstream at once', async () => {
  const before = gateway.ledger.settlements.length;
  const cases = Array.from(
    { length: 500 },
    (_, index): Leaving => ({
      user: `user-${index}`,
      path: index % 2 === 0 ? 'chat' : 'messages',
      modelId: index % 4 < 2 ? 'to/openai' : 'to/anthropic',
      words: 1 + Math.floor(Math.random() * 50),
      afterMs: Math.random() * 20,
      readsOn: index % 8 === 0,
    }),
  );
  const locksteps = new Map(cases.map((one) => [one.user, new Lockstep()]));
  for (const upstream of [openai, anthropic]) {
    upstream.reset({
      words: Array.from({ length: 2_000 }, (_, index) => WORDS[index % WORDS.length]!),
      gate: async ({ body }, frame) => {
        if (WORD.test(frame)) {
          await locksteps.get(body.user ?? body.metadata.user_id)!.mayWrite();
        }
        WORD.lastIndex = 0;
      },
    });
  }
  const readings = await Promise.all(cases.map((one) => leave(one, locksteps.get(one.user)!)));
  await eventually(async () => settlementsSince(before).length === 500, 20_000);
  expect(gateway.ledger.held).toBe(0n);
  expect(gateway.ledger.metered.size).toBe(0);

  const charged = new Map(settlementsSince(before).map((one) => [one.holdId, one.usage.outputTokens]));
  const differences = readings.map(({ hold, words }) => charged.get(hold)! - words);
  const wrong = differences.filter((by) => !(Math.abs(by) <= 1));
  expect(wrong).toEqual([]);
  for (const { usage, charge, status } of settlementsSince(before)) {
    expect(status).toBe('cancelled');
    expect(charge.amount).toBe(BigInt(usage.inputTokens) * 1_000n + BigInt(usage.outputTokens) * 2_000n);
  }
  const requests = [...openai.requests, ...anthropic.requests];
  await eventually(async () => requests.every((request) => request.abortedAt !== undefined), 20_000);
  const leftAt = new Map(cases.map((one, index) => [one.user, readings[index]!.leftAt]));
  const delays = requests.map(
    ({ body, abortedAt }) => abortedAt! - leftAt.get(body.user ?? body.metadata.user_id)!,
  );
  // a wait in the product delays all of them, a busy machine only some
  expect(Math.min(...delays)).toBeLessThan(500);
});

test('reads a drained provider to its own usage report', async () => {
  openai.reset({ words: WORDS, tokenDelayMs: 10 });
  const before = gateway.ledger.settlements.length;
  const reading = await readFor(300, 'to/drained', 'chat');
  await eventually(async () => settlementsSince(before).length === 1, 5_000);
  expect(countTokens(reading.text)).toBeLessThan(50);
  expect(gateway.ledger.last).toMatchObject({
    status: 'cancelled',
    usageSource: 'provider',
    usage: { inputTokens: 20, outputTokens: 60 },
  });
  await eventually(async () => openai.last.finished);
});

test('gives up a drained provider that never finishes', async () => {
  openai.reset({ words: WORDS, tokenDelayMs: 60, fault: 'hang_mid_stream' });
  const before = gateway.ledger.settlements.length;
  await readFor(600, 'to/drained', 'chat');
  await eventually(async () => settlementsSince(before).length === 1, 5_000);
  // the provider bills us for what it goes on to write unread, so the whole cap is charged
  expect(gateway.ledger.last).toMatchObject({ status: 'cancelled', usageSource: 'counted' });
  expect(gateway.ledger.last.usage.outputTokens).toBe(500);
  await eventually(async () => openai.last.abortedAt !== undefined);
});

test('stops the builtin provider as well', async () => {
  const before = gateway.ledger.settlements.length;
  await readFor(150, 'to/builtin', 'chat');
  await eventually(async () => settlementsSince(before).length === 1);
  expect(gateway.ledger.last).toMatchObject({ status: 'cancelled' });
  expect(gateway.ledger.last.usage.outputTokens).toBeLessThan(40);
});

test('treats an answer as complete when the client leaves after the last token, however its socket ended', async () => {
  openai.reset({ words: [' one'], fault: 'no_usage' });
  const before = gateway.ledger.settlements.length;
  await readFor(2_000, 'to/openai', 'chat');
  expect(settlementsSince(before)).toHaveLength(1);
  expect(gateway.ledger.last.status).toBe('completed');
});

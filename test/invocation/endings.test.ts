import { readFileSync } from 'node:fs';
import { CALL_ENDINGS, type CallEnding } from '../../src/invocation/call-endings.ts';
import { eventually } from '../factories/eventually.ts';
import { startOpenAiUpstream } from '../factories/upstream-openai.ts';
import type { Script, UpstreamServer } from '../factories/upstream-server.ts';
import { Gateway, model } from './gateway.ts';

/** The table of what is free, row by row, as documented. */

const ROW = /^\| `(\w+)` \| [^|]+ \| ([^|]+) \|$/gm;
const DOCUMENT = readFileSync('docs/architecture/invocation.md', 'utf8');
const ROWS = [...DOCUMENT.matchAll(ROW)].map(([, ending, pays]) => [ending as CallEnding, pays!] as const);

const WORDS = Array.from({ length: 40 }, () => ' word');
const PRICE_OF_INPUT = 20_000n;

let upstream: UpstreamServer;
let gateway: Gateway;

beforeEach(async () => {
  upstream = await startOpenAiUpstream();
  // long enough for a busy machine to send what does not hang
  const timeouts = { idle_ms: 1_000, first_byte_ms: 2_000 };
  gateway = await Gateway.start({
    providers: [
      { id: 'openai', protocol: 'openai', base_url: upstream.url, timeouts },
      { id: 'stops', protocol: 'openai', base_url: upstream.url, on_disconnect: 'abort' },
    ],
    models: [
      model('m', [{ provider: 'openai', model: 'gpt' }]),
      model('stops', [{ provider: 'stops', model: 'gpt' }]),
    ],
  });
});

afterEach(async () => {
  await gateway?.close();
  await upstream?.close();
});

async function call(
  script: Partial<Script>,
  body: object = {},
  signal?: AbortSignal,
  through = gateway,
): Promise<string> {
  upstream.reset({ words: WORDS, ...script });
  const response = await fetch(`${through.url}/api/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', stream: true, messages: [{ content: 'hello' }], ...body }),
    ...(signal && { signal }),
  });
  return response.text().catch(() => '');
}

/** Produces each ending. */
const ENDINGS: Readonly<Record<CallEnding, () => Promise<unknown>>> = {
  refused: () => call({}, { n_predict: 5, messages: [{ content: [{ type: 'hologram' }] }] }),
  failed_before_first_byte: () => call({ fault: 'hang_before_headers' }),
  answered: () => call({ fault: 'empty' }),
  cut: () =>
    call({ fault: 'ignores_cap', words: Array.from({ length: 500 }, () => ' word') }, { max_tokens: 5 }),
  timed_out: () => call({ fault: 'hang_mid_stream' }),
  left: async () => {
    const controller = new AbortController();
    const reading = call({ tokenDelayMs: 5 }, {}, controller.signal).catch(() => '');
    await eventually(async () => upstream.requests.length === 1 && gateway.ledger.metered.size === 1);
    await new Promise((resolve) => setTimeout(resolve, 60));
    controller.abort();
    await reading;
  },
  left_with_nothing: async () => {
    const controller = new AbortController();
    const asked = call({ fault: 'hang_before_headers' }, { model: 'stops' }, controller.signal).catch(
      () => '',
    );
    await eventually(async () => upstream.requests.length === 1);
    controller.abort();
    await asked;
    await eventually(async () => gateway.ledger.metered.size === 0);
  },
  shut_down: async () => {
    const reading = call({ tokenDelayMs: 20 });
    await eventually(async () => upstream.requests.length === 1);
    await gateway.service.drain(150);
    await reading;
  },
  broken_off: () => call({ fault: 'cut_stream' }),
};

test('has a row for every ending in the documentation that says what the code says', () => {
  expect(Object.fromEntries(ROWS)).toEqual(CALL_ENDINGS);
});

test.each(ROWS)('%s pays %s', async (ending, pays) => {
  await ENDINGS[ending]();
  if (ending === 'refused') {
    expect(upstream.requests).toHaveLength(0);
    expect(gateway.ledger.requests).toHaveLength(0);
    return;
  }
  await eventually(async () => gateway.ledger.settlements.length === 1);
  const { charge, due, waived } = gateway.ledger.last;
  switch (pays) {
    case 'nothing':
      expect(due).toBe(0n);
      break;
    case 'usage':
      expect(charge.amount).toBe(due);
      expect(charge.amount).toBeGreaterThanOrEqual(PRICE_OF_INPUT / 2n);
      break;
    default:
      expect(pays).toBe('usage beyond the allowance');
      expect(due).toBeGreaterThan(0n);
      expect({ charged: charge.amount, waived }).toEqual({ charged: 0n, waived: due });
      gateway.ledger.waived = 100_000_000n;
      await ENDINGS[ending]();
      await eventually(async () => gateway.ledger.settlements.length === 2);
      expect(gateway.ledger.last.charge.amount).toBe(due);
  }
});

test('charges a client that hangs up the provider’s own figure: leaving is not cheaper than staying', async () => {
  await ENDINGS.left();
  await eventually(async () => gateway.ledger.settlements.length === 1);
  expect(gateway.ledger.last).toMatchObject({
    status: 'cancelled',
    error: { code: 'client_closed' },
    usageSource: 'provider',
    usage: { inputTokens: 20, outputTokens: 40 },
  });
});

test('charges a client that leaves before the first word for what a provider without a usage report went on to write', async () => {
  const controller = new AbortController();
  const words = WORDS.slice(0, 8);
  const asked = call({ fault: 'no_usage', words, tokenDelayMs: 30 }, {}, controller.signal).catch(() => '');
  await eventually(async () => upstream.requests.length === 1);
  controller.abort();
  await asked;
  await eventually(async () => gateway.ledger.settlements.length === 1);
  const { usageSource, usage, charge, due, waived } = gateway.ledger.last;
  expect({ usageSource, output: usage.outputTokens, waived }).toEqual({
    usageSource: 'counted',
    output: words.length,
    waived: 0n,
  });
  expect(charge.amount).toBe(due);
});

describe.each([true, false])('an unreadable answer that reports usage (stream: %s)', (stream) => {
  test('pays like one that broke off: nothing within the allowance, then the provider’s own figure', async () => {
    await call({ fault: 'no_message' }, { stream });
    await eventually(async () => gateway.ledger.settlements.length === 1);
    const { charge, due, waived, usage, status } = gateway.ledger.last;
    expect({ status, usage }).toMatchObject({
      status: 'failed',
      usage: { inputTokens: 20, outputTokens: 40 },
    });
    expect({ due, charged: charge.amount, waived }).toEqual({ due: 100_000n, charged: 0n, waived: 100_000n });
    gateway.ledger.waived = 100_000_000n;
    await call({ fault: 'no_message' }, { stream });
    await eventually(async () => gateway.ledger.settlements.length === 2);
    expect(gateway.ledger.last.charge.amount).toBe(100_000n);
  });

  test('costs nothing when another route answers', async () => {
    const second = await startOpenAiUpstream();
    const both = await Gateway.start({
      providers: [
        { id: 'openai', protocol: 'openai', base_url: upstream.url },
        { id: 'second', protocol: 'openai', base_url: second.url },
      ],
      models: [
        model('m', [
          { provider: 'openai', model: 'gpt' },
          { provider: 'second', model: 'gpt' },
        ]),
      ],
    });
    try {
      second.reset({ words: [' one', ' two'] });
      await call({ fault: 'no_message' }, { stream }, undefined, both);
      expect(both.ledger.last).toMatchObject({
        status: 'completed',
        usage: { inputTokens: 20, outputTokens: 2 },
      });
    } finally {
      await both.close();
      await second.close();
    }
  });
});

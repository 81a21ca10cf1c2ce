import { countTokens } from '../../src/providers/token-counter.ts';
import { namedEvent, ReplayUpstream } from '../factories/upstream-replay.ts';
import { Gateway, model } from './gateway.ts';

/**
 * An answer that stays within its cap is delivered whole and charged by the provider's own figure, however our tokenizer counts it. The
 * same answer costs the same streamed or not.
 */

// biome-ignore lint/suspicious/noExplicitAny: answers of many shapes
type Json = any;

const CAP = 1_000;
const INPUT = 20;

let upstream: ReplayUpstream;
let gateway: Gateway;

beforeAll(async () => {
  upstream = await new ReplayUpstream().start();
  gateway = await Gateway.start({
    providers: [
      { id: 'chat', protocol: 'openai', base_url: upstream.url },
      { id: 'messages', protocol: 'anthropic', base_url: upstream.url },
    ],
    models: ['chat', 'messages'].map((id) => model(id, [{ provider: id, model: id }])),
  });
});

afterAll(async () => {
  await gateway?.close();
  await upstream?.close();
});

interface Answer {
  readonly words: readonly string[];
  readonly reported: number;
}

const WRITERS = {
  chat: {
    json({ words, reported }: Answer): object {
      const choice = { message: { role: 'assistant', content: words.join('') }, finish_reason: 'stop' };
      return { choices: [choice], usage: chatUsage(reported) };
    },
    frames({ words, reported }: Answer): string[] {
      const frame = (body: object) => `data: ${JSON.stringify(body)}\n\n`;
      return [
        ...words.map((content) => frame({ choices: [{ index: 0, delta: { content } }] })),
        frame({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
        frame({ choices: [], usage: chatUsage(reported) }),
        'data: [DONE]\n\n',
      ];
    },
  },
  messages: {
    json({ words, reported }: Answer): object {
      const usage = { input_tokens: INPUT, output_tokens: reported };
      return { content: [{ type: 'text', text: words.join('') }], stop_reason: 'end_turn', usage };
    },
    frames({ words, reported }: Answer): string[] {
      const usage = { input_tokens: INPUT, output_tokens: 1 };
      return [
        namedEvent({ type: 'message_start', message: { content: [], usage } }),
        namedEvent({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
        ...words.map((text) =>
          namedEvent({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
        ),
        namedEvent({ type: 'content_block_stop', index: 0 }),
        namedEvent({
          type: 'message_delta',
          delta: { stop_reason: 'end_turn' },
          usage: { output_tokens: reported },
        }),
        namedEvent({ type: 'message_stop' }),
      ];
    },
  },
};

function chatUsage(reported: number): object {
  return { prompt_tokens: INPUT, completion_tokens: reported, total_tokens: INPUT + reported };
}

/** Groups frames into packets: enough per packet to be quick, and few enough for many packets. */
function pieces(frames: readonly string[]): string[] {
  return Array.from({ length: Math.ceil(frames.length / 20) }, (_, index) =>
    frames.slice(index * 20, index * 20 + 20).join(''),
  );
}

function wordsOf(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `word${index} `);
}

type Protocol = keyof typeof WRITERS;

type Endpoint = 'chat' | 'messages';
const PATHS: Record<Endpoint, string> = { chat: '/api/v1/chat/completions', messages: '/v1/messages' };
const ENDPOINTS: readonly Endpoint[] = ['chat', 'messages'];

/** Reads the text of an answer, how it ended, and the output tokens it shows, from whole answers and from streams. */
const READERS = {
  chat(pieces: Json[]) {
    const choices = pieces.flatMap((piece) => piece.choices);
    const { finish_reason } = choices.findLast((choice) => choice.finish_reason);
    return {
      text: choices.map((choice) => (choice.delta ?? choice.message).content ?? '').join(''),
      wholly: finish_reason === 'stop',
      shown: pieces.at(-1).usage.output_tokens,
    };
  },
  messages(pieces: Json[]) {
    const texts = pieces.flatMap((piece) => piece.content ?? [piece.delta ?? {}]);
    const last = pieces.findLast((piece) => piece.usage);
    return {
      text: texts.map((one) => one.text ?? '').join(''),
      wholly: (last.delta ?? last).stop_reason === 'end_turn',
      shown: last.usage.output_tokens,
    };
  },
};

async function ask(protocol: Protocol, endpoint: Endpoint, stream: boolean) {
  const response = await fetch(gateway.url + PATHS[endpoint], {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: protocol,
      max_tokens: CAP,
      stream,
      messages: [{ role: 'user', content: 'hello '.repeat(20) }],
    }),
  });
  const body = await response.text();
  const pieces = stream
    ? [...body.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data!))
    : [JSON.parse(body)];
  const { charge, usage, usageSource, status } = gateway.ledger.last;
  return {
    ...READERS[endpoint](pieces),
    charged: charge.amount,
    output: usage.outputTokens,
    usageSource,
    status,
  };
}

const ROWS: [Protocol, words: number, reported: number, packets: 'piece by piece' | 'at once'][] = [
  ['chat', 700, 700, 'piece by piece'],
  ['messages', 700, 700, 'piece by piece'],
  ['chat', 700, 700, 'at once'],
  ['messages', 700, 700, 'at once'],
  ['chat', 520, 940, 'piece by piece'],
  ['messages', 520, 940, 'piece by piece'],
];

test.each(ENDPOINTS.flatMap((endpoint) => ROWS.map((row) => [endpoint, ...row] as const)))(
  'to %s from %s: %i words reported as %i, %s: costs the same streamed or not',
  async (endpoint, protocol, count, reported, how) => {
    const words = wordsOf(count);
    expect(countTokens(words.join(''))).toBeGreaterThan(CAP);
    const writer = WRITERS[protocol];
    upstream.play(protocol, {
      type: 'application/json',
      packets: [JSON.stringify(writer.json({ words, reported }))],
    });
    const whole = await ask(protocol, endpoint, false);
    const frames = writer.frames({ words, reported });
    upstream.play(protocol, { packets: how === 'at once' ? [frames.join('')] : pieces(frames) });
    const streamed = await ask(protocol, endpoint, true);
    expect(whole).toEqual({
      text: words.join(''),
      wholly: true,
      shown: reported,
      charged: BigInt(INPUT * 1_000 + reported * 2_000),
      output: reported,
      usageSource: 'provider',
      status: 'completed',
    });
    expect(streamed).toEqual(whole);
  },
);

test.each(ENDPOINTS.flatMap((endpoint) => ENDPOINTS.map((protocol) => [endpoint, protocol] as const)))(
  'to %s from %s: never charges beyond a cap, and shows the usage it charges',
  async (endpoint, protocol) => {
    const most = BigInt(INPUT * 1_000 + CAP * 2_000);
    const answer = { words: wordsOf(1.5 * CAP), reported: 1.5 * CAP };
    const writer = WRITERS[protocol];
    upstream.play(protocol, { packets: [JSON.stringify(writer.json(answer))], type: 'application/json' });
    expect(await ask(protocol, endpoint, false)).toMatchObject({ output: CAP, shown: CAP, charged: most });
    upstream.play(protocol, { packets: [writer.frames(answer).join('')] });
    expect(await ask(protocol, endpoint, true)).toMatchObject({ output: CAP, shown: CAP, charged: most });
    const endless = { words: wordsOf(12 * CAP), reported: 12 * CAP };
    upstream.play(protocol, { packets: pieces(writer.frames(endless).slice(0, -3)) });
    const cut = await ask(protocol, endpoint, true);
    expect(cut).toMatchObject({ wholly: false, output: CAP, shown: CAP, usageSource: 'counted' });
    expect(countTokens(cut.text)).toBeGreaterThan(4 * CAP);
    expect(countTokens(cut.text)).toBeLessThan(5 * CAP);
  },
);

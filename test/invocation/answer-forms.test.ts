import { ReplayUpstream } from '../factories/upstream-replay.ts';
import { Gateway, model } from './gateway.ts';
import { receivedText } from './received-text.ts';

/** Answers and errors in forms that their headers do not announce. */

const PROTOCOLS = ['openai', 'anthropic', 'responses'] as const;
type Protocol = (typeof PROTOCOLS)[number];

const USAGE = { prompt_tokens: 20, completion_tokens: 8, total_tokens: 28 };
const COUNTS = { input_tokens: 20, output_tokens: 8, total_tokens: 28 };

/** A whole answer of each protocol. */
const ANSWERS: Readonly<Record<Protocol, object>> = {
  openai: {
    choices: [{ index: 0, message: { role: 'assistant', content: 'Grüße 😀' }, finish_reason: 'stop' }],
    usage: USAGE,
  },
  anthropic: {
    type: 'message',
    role: 'assistant',
    content: [{ type: 'text', text: 'Grüße 😀' }],
    stop_reason: 'end_turn',
    usage: COUNTS,
  },
  responses: {
    status: 'completed',
    output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Grüße 😀' }] }],
    usage: COUNTS,
  },
};

let upstream: ReplayUpstream;
let gateway: Gateway;

beforeEach(async () => {
  upstream = await new ReplayUpstream().start();
  gateway = await Gateway.start({
    providers: PROTOCOLS.map((protocol) => ({ id: protocol, protocol, base_url: upstream.url })),
    models: PROTOCOLS.map((protocol) => model(protocol, [{ provider: protocol, model: protocol }])),
  });
});

afterEach(async () => {
  await gateway?.close();
  await upstream?.close();
});

interface Asked {
  readonly status: number;
  readonly text: string;
  readonly retry: string | null;
  readonly calls: number | undefined;
}

async function ask(protocol: Protocol, stream: boolean): Promise<Asked> {
  upstream.calls.clear();
  const response = await fetch(`${gateway.url}/api/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: protocol, stream, messages: [{ role: 'user', content: 'x' }] }),
  });
  const { status, headers } = response;
  const text = await receivedText(response);
  return { status, text, retry: headers.get('x-should-retry'), calls: upstream.calls.get(protocol) };
}

const TYPES = ['text/event-stream', 'text/plain', '', 'text/json', 'Application/JSON; charset=utf-8'];

describe.each(PROTOCOLS)('a whole answer of %s to a request for a stream', (protocol) => {
  const text = JSON.stringify(ANSWERS[protocol]);

  test.each(TYPES)('is read as one when its type is "%s"', async (type) => {
    upstream.play(protocol, { type, packets: [text] });
    const { status, text: got } = await ask(protocol, true);
    expect({ status, got }).toEqual({ status: 200, got: expect.stringContaining('Grüße 😀') });
    expect(gateway.ledger.last).toMatchObject({ usage: { inputTokens: 20, outputTokens: 8 } });
  });

  test('may follow blank lines and come in pieces that split characters', async () => {
    const bytes = Buffer.from(`\n \n\n${text}\n`);
    const packets = Array.from({ length: bytes.length }, (_, index) => bytes.subarray(index, index + 1));
    upstream.play(protocol, { packets, pauseMs: 0 });
    expect(await ask(protocol, true)).toMatchObject({
      status: 200,
      text: expect.stringContaining('Grüße 😀'),
    });
  });
});

const TOO_LONG = {
  openai: "This model's maximum context length is 8192 tokens",
  anthropic: 'prompt is too long: 9000 tokens > 8192 maximum',
  responses: 'Your input exceeds the context window of this model',
};

describe.each(PROTOCOLS)('an error of %s as JSON in place of a stream', (protocol) => {
  test.each(['', '\n\n', ': keep-alive\n\n'])('keeps its code after %j', async (before) => {
    const error = { message: TOO_LONG[protocol], type: 'invalid_request_error' };
    upstream.play(protocol, { packets: [before, JSON.stringify({ error })] });
    const { status, text, calls } = await ask(protocol, true);
    expect({ status, calls }).toEqual({ status: 400, calls: 1 });
    expect(JSON.parse(text)).toMatchObject({ error: { code: 'context_length_exceeded' } });
  });

  test('is a rate limit if it says so', async () => {
    upstream.play(protocol, {
      packets: [JSON.stringify({ error: { type: 'rate_limit_error', message: 'slow' } })],
    });
    expect(await ask(protocol, true)).toMatchObject({ status: 429, retry: 'true' });
  });
});

test('half a JSON answer to a request for a stream is none', async () => {
  upstream.play('openai', { packets: [JSON.stringify(ANSWERS.openai).slice(0, -9)] });
  expect(await ask('openai', true)).toMatchObject({ status: 502, calls: 1 });
});

test('events that call themselves JSON are streamed', async () => {
  const chunk = (delta: object, finish_reason: string | null) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
  const packets = [chunk({ content: 'Hello' }, null), chunk({}, 'stop'), 'data: [DONE]\n\n'];
  upstream.play('openai', { type: 'application/json', packets });
  expect(await ask('openai', true)).toMatchObject({ status: 200, text: expect.stringContaining('Hello') });
});

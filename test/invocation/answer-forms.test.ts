import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
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

async function ask(protocol: Protocol, stream: boolean, more: object = {}): Promise<Asked> {
  upstream.calls.clear();
  const response = await fetch(`${gateway.url}/api/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: protocol, stream, messages: [{ role: 'user', content: 'x' }], ...more }),
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

/** Events of each protocol that add up to its answer, with reasoning and a call. */
const STREAMS: Readonly<Record<Protocol, readonly object[]>> = {
  openai: [
    { choices: [{ index: 0, delta: { role: 'assistant', reasoning_content: 'Hm', content: '' } }] },
    { choices: [{ index: 0, delta: { content: 'Grüße' } }] },
    { choices: [{ index: 0, delta: { content: ' 😀' } }] },
    ...['{"a"', ':1}'].map((args, place) => {
      const call = place === 0 ? { id: 'call_1', type: 'function' } : {};
      const named = place === 0 ? { name: 'look' } : {};
      const tool_calls = [{ index: 0, ...call, function: { ...named, arguments: args } }];
      return { choices: [{ index: 0, delta: { tool_calls } }] };
    }),
    { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
    { choices: [], usage: USAGE },
  ],
  anthropic: [
    {
      type: 'message_start',
      message: {
        type: 'message',
        role: 'assistant',
        content: [],
        usage: { input_tokens: 20, output_tokens: 1 },
      },
    },
    {
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'thinking', thinking: '', signature: '' },
    },
    { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Hm' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'sig' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'Grüße' } },
    { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: ' 😀' } },
    { type: 'content_block_stop', index: 1 },
    {
      type: 'content_block_start',
      index: 2,
      content_block: { type: 'tool_use', id: 'call_1', name: 'look', input: {} },
    },
    { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '{"a"' } },
    { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: ':1}' } },
    { type: 'content_block_stop', index: 2 },
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 8 } },
    { type: 'message_stop' },
  ],
  responses: [
    {
      type: 'response.output_item.added',
      output_index: 0,
      item: { type: 'reasoning', id: 'rs', summary: [] },
    },
    {
      type: 'response.reasoning_summary_text.delta',
      output_index: 0,
      item_id: 'rs',
      summary_index: 0,
      delta: 'Hm',
    },
    { type: 'response.output_text.delta', output_index: 1, item_id: 'msg', content_index: 0, delta: 'Grüße' },
    { type: 'response.output_text.delta', output_index: 1, item_id: 'msg', content_index: 0, delta: ' 😀' },
    {
      type: 'response.output_item.done',
      output_index: 2,
      item: { type: 'function_call', id: 'fc', call_id: 'call_1', name: 'look', arguments: '{"a":1}' },
    },
    { type: 'response.completed', response: { status: 'completed', usage: COUNTS } },
  ],
};

function eventsOf(protocol: Protocol): string {
  const names = (event: object) => ('type' in event ? `event: ${event.type}\n` : '');
  const frames = STREAMS[protocol].map((event) => `${names(event)}data: ${JSON.stringify(event)}\n\n`);
  return frames.join('') + (protocol === 'openai' ? 'data: [DONE]\n\n' : '');
}

describe.each(PROTOCOLS)('events of %s in answer to a call that is not streamed', (protocol) => {
  test.each(['text/event-stream', 'application/json'])(
    'are one whole answer when their type is "%s"',
    async (type) => {
      upstream.play(protocol, { type, packets: [`: keep-alive\n\n${eventsOf(protocol)}`] });
      const { status, text, calls } = await ask(protocol, false);
      expect({ status, calls }).toEqual({ status: 200, calls: 1 });
      const { choices } = JSON.parse(text);
      expect(choices).toMatchObject([
        {
          finish_reason: 'tool_calls',
          message: {
            content: 'Grüße 😀',
            reasoning_content: 'Hm',
            tool_calls: [{ id: 'call_1', function: { name: 'look', arguments: '{"a":1}' } }],
          },
        },
      ]);
      expect(gateway.ledger.last).toMatchObject({
        usage: { inputTokens: 20, outputTokens: 8 },
        usageSource: 'provider',
      });
    },
  );

  test('are no answer when they break off, and an error when they say so', async () => {
    const half = eventsOf(protocol).slice(0, -120);
    upstream.play(protocol, { packets: [half.slice(0, half.lastIndexOf('\n\n') + 2)] });
    const broken = await ask(protocol, false);
    expect({ status: broken.status, charged: gateway.ledger.last.charge.amount }).toEqual({
      status: 502,
      charged: 0n,
    });
    const error = { message: 'slow down', type: 'rate_limit_error' };
    upstream.play(protocol, {
      packets: [`event: error\ndata: ${JSON.stringify({ type: 'error', error })}\n\n`],
    });
    expect(await ask(protocol, false)).toMatchObject({ status: 429, retry: 'true' });
  });
});

describe.each(PROTOCOLS)('reasoning of %s', (protocol) => {
  test.each([
    [{ reasoning: { exclude: true } }, false],
    [{ reasoning: { exclude: true } }, true],
    [{ include_reasoning: false, functions: [{ name: 'look' }] }, true],
  ])('is charged but not shown to %j (streamed: %s)', async (more, stream) => {
    upstream.play(protocol, { packets: [eventsOf(protocol)] });
    const { status, text } = await ask(protocol, stream, more);
    expect({ status, text }).toEqual({ status: 200, text: expect.stringContaining('Grüße') });
    expect(text).toContain('look');
    expect(text).not.toMatch(/Hm|"reasoning(?:_content|_details)?":|"sig"/);
    expect(gateway.ledger.last).toMatchObject({ usage: { inputTokens: 20, outputTokens: 8 } });
  });
});

test('log probabilities of streamed pieces become those of the whole answer', async () => {
  const piece = (token: string) => {
    const logprobs = { content: [{ token, logprob: -0.5, bytes: null, top_logprobs: [] }] };
    return `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: token }, logprobs }] })}\n\n`;
  };
  const end = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: USAGE };
  upstream.play('openai', { packets: [`${piece('a')}${piece('b')}data: ${JSON.stringify(end)}\n\n`] });
  const { choices } = JSON.parse((await ask('openai', false)).text);
  expect(choices[0]).toMatchObject({
    message: { content: 'ab' },
    logprobs: { content: [{ token: 'a' }, { token: 'b' }] },
  });
});

const PAGE = { start_index: 5, end_index: 9, url: 'https://a.example/', title: 'A' };
const CITED = {
  type: 'web_search_result_location',
  url: PAGE.url,
  title: 'A',
  cited_text: 'q',
  encrypted_index: 'e',
};
const OUTPUT_TEXT = {
  type: 'output_text',
  text: 'See: Oslo.',
  annotations: [
    { type: 'url_citation', ...PAGE },
    { type: 'file_citation', file_id: 'f' },
  ],
};
const SAID = { role: 'assistant', content: 'See: Oslo.' };
const URL_CITATION = { annotations: [{ type: 'url_citation', url_citation: PAGE }] };
const UNPLACED = { ...PAGE, start_index: 0, end_index: 0 };

/** Answers that cite a page, as a whole and in events, and where their protocol says that they do. */
const CITING: readonly [string, Protocol, object, readonly object[], object][] = [
  [
    'OpenAI',
    'openai',
    { choices: [{ message: { ...SAID, ...URL_CITATION }, finish_reason: 'stop' }] },
    [
      { choices: [{ index: 0, delta: { content: 'See: Oslo.' } }] },
      { choices: [{ index: 0, delta: URL_CITATION }] },
      { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    ],
    PAGE,
  ],
  [
    'Perplexity',
    'openai',
    {
      ...{ citations: [PAGE.url], search_results: [{ url: PAGE.url, title: 'A', date: null }] },
      choices: [{ message: SAID, finish_reason: 'stop' }],
    },
    ['', 'See: ', 'Oslo.'].map((content, index) => ({
      ...{ citations: [PAGE.url], search_results: [{ url: PAGE.url, title: 'A' }] },
      choices: [{ index: 0, delta: { content }, finish_reason: index === 2 ? 'stop' : null }],
    })),
    UNPLACED,
  ],
  [
    'Anthropic',
    'anthropic',
    {
      ...{ type: 'message', role: 'assistant', stop_reason: 'end_turn' },
      content: [
        { type: 'text', text: 'See: ' },
        { type: 'text', text: 'Oslo', citations: [CITED] },
        { type: 'text', text: '.' },
      ],
    },
    [
      { type: 'message_start', message: { content: [], usage: { input_tokens: 20, output_tokens: 1 } } },
      ...['See: ', 'Oslo', '.'].flatMap((text, index) => [
        { type: 'content_block_start', index, content_block: { type: 'text', text: '' } },
        { type: 'content_block_delta', index, delta: { type: 'text_delta', text } },
        ...(index === 1
          ? [{ type: 'content_block_delta', index, delta: { type: 'citations_delta', citation: CITED } }]
          : []),
        { type: 'content_block_stop', index },
      ]),
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 8 } },
      { type: 'message_stop' },
    ],
    PAGE,
  ],
  [
    'Responses',
    'responses',
    { status: 'completed', output: [{ type: 'message', content: [OUTPUT_TEXT] }] },
    [
      { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'See: Oslo.' },
      {
        type: 'response.output_text.annotation.added',
        ...{ output_index: 0, content_index: 0, annotation_index: 0, annotation: OUTPUT_TEXT.annotations[0] },
      },
      {
        type: 'response.output_item.done',
        output_index: 0,
        item: { type: 'message', content: [OUTPUT_TEXT] },
      },
      {
        type: 'response.completed',
        response: {
          status: 'completed',
          output: [{ type: 'message', content: [OUTPUT_TEXT] }],
          usage: COUNTS,
        },
      },
    ],
    PAGE,
  ],
];

describe.each(CITING)('pages that an answer of %s cites', (_, protocol, whole, events, page) => {
  async function answered(path: string, body: object): Promise<string> {
    const stream = 'stream' in body && body.stream === true;
    const usage = protocol === 'openai' ? USAGE : COUNTS;
    const packets = stream
      ? events.map((event) => `data: ${JSON.stringify(event)}\n\n`)
      : [JSON.stringify({ ...whole, usage })];
    upstream.play(protocol, { packets });
    const response = await fetch(gateway.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: protocol, ...body }),
    });
    return receivedText(response);
  }
  const eventsIn = (text: string) =>
    [...text.matchAll(/^data: (\{.*)$/gm)].map(([, one]) => JSON.parse(one!));
  const annotation = { type: 'url_citation', ...page };

  test('are annotations of Responses', async () => {
    const { output } = JSON.parse(await answered('/api/v1/responses', { input: 'x' }));
    expect(output).toMatchObject([{ content: [{ text: 'See: Oslo.', annotations: [annotation] }] }]);
    const streamed = eventsIn(await answered('/api/v1/responses', { input: 'x', stream: true }));
    expect(streamed.filter(({ type }) => type === 'response.output_text.annotation.added')).toMatchObject([
      { output_index: 0, content_index: 0, annotation_index: 0, annotation },
    ]);
    expect(streamed.at(-1).response.output).toMatchObject([{ content: [{ annotations: [annotation] }] }]);
  });

  test('are citations of messages', async () => {
    const messages = [{ role: 'user', content: 'x' }];
    const asked = { max_tokens: 99, messages };
    const citation = { type: 'web_search_result_location', url: PAGE.url, title: 'A' };
    const { content } = JSON.parse(await answered('/v1/messages', asked));
    const cited = content.flatMap((block: { citations?: object[] }) => block.citations ?? []);
    expect(cited).toMatchObject([citation]);
    const streamed = eventsIn(await answered('/v1/messages', { ...asked, stream: true }));
    const deltas = streamed.map(({ delta }) => delta?.citation).filter((one) => one);
    expect(deltas).toMatchObject([citation]);
  });
});

describe.each([true, false])('numbers that only Python knows (stream: %s)', (stream) => {
  test('are null, and letters in a text remain', async () => {
    const said = 'NaN \\"-Infinity\\\\';
    const odds = `{"content":[{"token":"${said}","logprob":-Infinity,"top_logprobs":[{"token":"NaN","logprob": NaN},{"token":"i","logprob":Infinity}]}]}`;
    const choice = (member: string) =>
      `{"choices":[{"index":0,"${member}":{"role":"assistant","content":"${said}"},"logprobs":${odds},"finish_reason":"stop"}],"usage":${JSON.stringify(USAGE)}}`;
    upstream.play('openai', {
      packets: stream ? [`data: ${choice('delta')}\n\ndata: [DONE]\n\n`] : [choice('message')],
    });
    const { status, text } = await ask('openai', stream);
    expect(status).toBe(200);
    expect(text).toContain(`"content":"${said}"`);
    expect(text).toContain(
      `{"token":"${said}","logprob":null,"top_logprobs":[{"token":"NaN","logprob":null},{"token":"i","logprob":null}]}`,
    );
  });
});

test.each([
  ['<!DOCTYPE html>\n<html><body>Sign in: <a href="/x">here</a></body></html>', true],
  ['upstream is not ready', true],
  ['<!DOCTYPE html>\n<html></html>', false],
])('a page in place of an answer is asked for once: %j (stream: %s)', async (page, stream) => {
  upstream.play('openai', { type: 'text/html', packets: [page] });
  expect(await ask('openai', stream)).toMatchObject({ status: 502, calls: 1 });
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

const CODINGS = { gzip: gzipSync, 'x-gzip': gzipSync, deflate: deflateSync, br: brotliCompressSync };

describe.each(Object.entries(CODINGS))(
  'a server that sends %s although it was asked not to',
  (coding, compress) => {
    const headers = { 'content-encoding': coding.toUpperCase() };
    const send = (text: string, others: object = {}) => {
      const bytes = compress(text);
      upstream.play('openai', { headers, packets: [bytes.subarray(0, 9), bytes.subarray(9)], ...others });
    };

    test.each([false, true])('is understood (stream: %s)', async (stream) => {
      send(JSON.stringify(ANSWERS.openai), { type: 'application/json' });
      expect(await ask('openai', stream)).toMatchObject({
        status: 200,
        text: expect.stringContaining('Grüße'),
      });
      expect(upstream.asked.get('openai')).toMatchObject({ 'accept-encoding': 'identity' });
    });

    test('is understood when it streams events', async () => {
      const chunk = {
        choices: [{ index: 0, delta: { content: 'Grüße' }, finish_reason: 'stop' }],
        usage: USAGE,
      };
      send(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`);
      expect(await ask('openai', true)).toMatchObject({
        status: 200,
        text: expect.stringContaining('Grüße'),
      });
    });

    test.each([false, true])('keeps the words of its error (stream: %s)', async (stream) => {
      send(JSON.stringify({ error: { message: 'bad tool schema' } }), { status: 400 });
      expect(await ask('openai', stream)).toMatchObject({
        status: 400,
        text: expect.stringContaining('bad tool schema'),
      });
    });
  },
);

test('two codings are undone in order', async () => {
  const packets = [gzipSync(brotliCompressSync(JSON.stringify(ANSWERS.openai)))];
  upstream.play('openai', { headers: { 'content-encoding': 'br, gzip' }, packets });
  expect(await ask('openai', false)).toMatchObject({ status: 200 });
});

test.each([false, true])(
  'the limit of an answer counts what comes out of its coding (stream: %s)',
  async (stream) => {
    const packets = [gzipSync(`{"a":"${'x'.repeat(34_000_000)}"}`)];
    upstream.play('openai', { headers: { 'content-encoding': 'gzip' }, packets });
    expect(await ask('openai', stream)).toMatchObject({ status: 502, calls: 1 });
  },
);

describe.each(PROTOCOLS)('a byte order mark of %s', (protocol) => {
  test.each([false, true])('before an answer is skipped (stream: %s)', async (stream) => {
    upstream.play(protocol, {
      type: 'application/json',
      packets: [`\ufeff${JSON.stringify(ANSWERS[protocol])}`],
    });
    expect(await ask(protocol, stream)).toMatchObject({
      status: 200,
      text: expect.stringContaining('Grüße'),
    });
  });

  test('before an error is skipped', async () => {
    const error = { message: 'bad tool schema', type: 'invalid_request_error' };
    upstream.play(protocol, { status: 400, packets: [`\ufeff${JSON.stringify({ error })}`] });
    expect(await ask(protocol, false)).toMatchObject({
      status: 400,
      text: expect.stringContaining('bad tool schema'),
    });
  });
});

const SAYS_WHY: [string, number, string][] = [
  [
    'an error in a stream',
    200,
    `data: ${JSON.stringify({ error: { code: 400, message: 'bad tool schema' } })}\n\n`,
  ],
  [
    'a code as text',
    200,
    `data: ${JSON.stringify({ error: { code: '400', message: 'bad tool schema' } })}\n\n`,
  ],
  [
    'an event as the body of an error',
    400,
    'event: error\ndata: {"error":{"message":"bad tool schema"}}\n\n',
  ],
  ['plain text', 400, 'bad tool schema\n'],
  ['a list of errors', 400, '{"success":false,"errors":[{"code":5006,"message":"bad tool schema"}]}'],
];

test.each(SAYS_WHY)('%s tells the caller what is wrong', async (_, status, body) => {
  upstream.play('openai', { status, packets: [body] });
  const asked = await ask('openai', true);
  expect(asked).toMatchObject({ status: 400, calls: 1, text: expect.stringContaining('bad tool schema') });
});

test.each([
  [301, 502, 'false'],
  [302, 502, 'false'],
  [307, 502, 'false'],
  [308, 502, 'false'],
  [418, 400, 'false'],
])('a response of %i is tried once and gives %i', async (status, told, retry) => {
  upstream.play('openai', { status, headers: { location: 'https://elsewhere.example/' }, packets: [''] });
  expect(await ask('openai', true)).toMatchObject({ status: told, calls: 1, retry });
  expect(await ask('openai', false)).toMatchObject({ status: told, calls: 1, retry });
});

test.each(['event: end\ndata: done\n\n', 'data: done\n\n', 'data: [END]\n\n'])(
  '%j after a complete answer is an end mark',
  async (mark) => {
    const chunk = {
      choices: [{ index: 0, delta: { content: 'Hello' }, finish_reason: 'stop' }],
      usage: USAGE,
    };
    const answer = `data: ${JSON.stringify(chunk)}\n\n`;
    upstream.play('openai', { packets: [answer + mark] });
    expect(await ask('openai', true)).toMatchObject({ status: 200, text: expect.stringContaining('[DONE]') });
    upstream.play('openai', { packets: [mark + answer] });
    expect(await ask('openai', true)).toMatchObject({ status: 502 });
  },
);

import { OpenRouter } from '@openrouter/sdk';
import OpenAI from 'openai';
import type { Response, ResponseInput, ResponseStreamEvent } from 'openai/resources/responses/responses';
import { startAnthropicUpstream } from '../factories/upstream-anthropic.ts';
import { startOpenAiUpstream } from '../factories/upstream-openai.ts';
import { startResponsesUpstream } from '../factories/upstream-responses.ts';
import type { UpstreamServer } from '../factories/upstream-server.ts';
import { Gateway, model } from './gateway.ts';

const SENTENCE = 'The quick brown fox jumps over the lazy dog';
const MODELS = ['to/openai', 'to/anthropic', 'to/responses'] as const;
const WEATHER = {
  type: 'function',
  name: 'weather',
  description: 'Weather of a city',
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
  strict: null,
} as const;

let upstreams: Record<(typeof MODELS)[number], UpstreamServer>;
let gateway: Gateway;
let openai: OpenAI;

beforeAll(async () => {
  upstreams = {
    'to/openai': await startOpenAiUpstream(),
    'to/anthropic': await startAnthropicUpstream(),
    'to/responses': await startResponsesUpstream(),
  };
  const shared = { on_disconnect: 'abort' };
  gateway = await Gateway.start({
    providers: [
      { id: 'one', protocol: 'openai', base_url: upstreams['to/openai'].url, ...shared },
      { id: 'two', protocol: 'anthropic', base_url: upstreams['to/anthropic'].url, ...shared },
      { id: 'three', protocol: 'responses', base_url: upstreams['to/responses'].url, ...shared },
    ],
    models: [
      model('to/openai', [{ provider: 'one', model: 'gpt' }], { endpoints: ['chat'] }),
      model('to/anthropic', [{ provider: 'two', model: 'claude' }], { endpoints: ['messages'] }),
      model('to/responses', [{ provider: 'three', model: 'gpt-5' }], { endpoints: ['chat'] }),
      model('to/pictures', [{ provider: 'one', model: 'gpt' }], { endpoints: ['image'] }),
    ],
  });
  openai = new OpenAI({ apiKey: 'k', baseURL: `${gateway.url}/api/v1`, maxRetries: 0 });
});

beforeEach(() => {
  for (const upstream of Object.values(upstreams)) {
    upstream.reset();
  }
});

afterAll(async () => {
  await gateway?.close();
  await Promise.all(Object.values(upstreams ?? {}).map((upstream) => upstream.close()));
});

/** Returns the events of a stream from the official SDK, with their sequence numbers checked, and the response in the last event. */
async function streamed(
  body: Omit<OpenAI.Responses.ResponseCreateParamsStreaming, 'stream'>,
): Promise<{ events: ResponseStreamEvent[]; response: Response }> {
  const events: ResponseStreamEvent[] = [];
  for await (const event of await openai.responses.create({ ...body, stream: true })) {
    events.push(event);
  }
  expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index));
  const last = events.at(-1)!;
  expect(last.type).toMatch(/^response\.(completed|incomplete)$/);
  return { events, response: (last as { response: Response }).response };
}

function outputText(response: Response): string {
  return response.output
    .flatMap((item) => (item.type === 'message' ? item.content : []))
    .map((part) => (part.type === 'output_text' ? part.text : ''))
    .join('');
}

// biome-ignore lint/suspicious/noExplicitAny: refusals and answers of several shapes
async function post(body: object): Promise<{ status: number; headers: Headers; body: any }> {
  const answer = await fetch(`${gateway.url}/api/v1/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: answer.status, headers: answer.headers, body: await answer.json() };
}

describe.each(MODELS)('the official SDK over %s', (id) => {
  test('returns text', async () => {
    const response = await openai.responses.create({
      model: id,
      instructions: 'Be short.',
      input: 'hello',
      max_output_tokens: 50,
      store: false,
      metadata: { order: '7' },
    });
    expect(response.output_text).toBe(SENTENCE);
    expect(response).toMatchObject({
      status: 'completed',
      store: false,
      metadata: { order: '7' },
      error: null,
    });
    expect(response.id).toMatch(/^gen-/);
    expect(response.usage).toMatchObject({
      input_tokens: 20,
      output_tokens: 9,
      total_tokens: 29,
      cost: 0.000038,
    });
    expect(gateway.ledger.settlements.at(-1)).toMatchObject({
      status: 'completed',
      charge: { amount: 38_000n },
    });
  });

  test('streams events that add up to the answer, in the order of the protocol', async () => {
    const { events, response } = await streamed({ model: id, input: 'hello' });
    const kinds = events.map(({ type }) => type).filter((type, at, all) => type !== all[at - 1]);
    expect(kinds).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ]);
    const deltas = events.flatMap((event) =>
      event.type === 'response.output_text.delta' ? event.delta : [],
    );
    expect(deltas.join('')).toBe(SENTENCE);
    expect(outputText(response)).toBe(SENTENCE);
    const accumulated = await openai.responses.stream({ model: id, input: 'hello' }).finalResponse();
    expect(accumulated.output_text).toBe(SENTENCE);
  });

  test.each([false, true])('handles a function call and its result (stream: %s)', async (stream) => {
    const asked = { model: id, input: 'both', tools: [WEATHER], store: false };
    const first = stream ? (await streamed(asked)).response : await openai.responses.create(asked);
    const calls = first.output.filter((item) => item.type === 'function_call');
    expect(
      calls.map(({ name, arguments: args, status }) => ({ name, args: JSON.parse(args), status })),
    ).toEqual(['Paris', 'Oslo'].map((city) => ({ name: 'weather', args: { city }, status: 'completed' })));
    const input: ResponseInput = [
      { role: 'user', content: 'both' },
      ...(first.output as ResponseInput),
      ...calls.map((call) => ({
        type: 'function_call_output' as const,
        call_id: call.call_id,
        output: '21 °C',
      })),
    ];
    const second = await openai.responses.create({ ...asked, input });
    expect(second.output_text).toBe(SENTENCE);
    const { messages, input: items } = upstreams[id].last.body;
    const said = JSON.stringify(messages ?? items);
    expect(said).toContain(calls[0]!.call_id);
    expect(said).toContain('21 °C');
  });

  test.each([false, true])('accepts reasoning back as it was sent (stream: %s)', async (stream) => {
    upstreams[id].reset({ reasoning: 'hm hm' });
    const asked = {
      model: id,
      input: 'hello',
      include: ['reasoning.encrypted_content' as const],
      reasoning: { effort: 'low' as const },
    };
    const first = stream ? (await streamed(asked)).response : await openai.responses.create(asked);
    const [reasoning] = first.output;
    expect(reasoning).toMatchObject({
      type: 'reasoning',
      summary: [{ type: 'summary_text', text: 'hm hm' }],
    });
    const input = [
      { role: 'user', content: 'hello' },
      ...first.output,
      { role: 'user', content: 'go on' },
    ] as ResponseInput;
    await openai.responses.create({ ...asked, input });
    const { messages, input: items } = upstreams[id].last.body;
    const [, turn, said] = messages ?? items;
    const thinking = { type: 'thinking', thinking: 'hm hm', signature: expect.any(String) };
    const expected = {
      'to/openai': { role: 'assistant', reasoning_content: 'hm hm', content: SENTENCE },
      'to/anthropic': { role: 'assistant', content: [thinking, { type: 'text', text: SENTENCE }] },
      'to/responses': {
        type: 'reasoning',
        summary: [{ type: 'summary_text', text: 'hm hm' }],
        encrypted_content: 'gAAAA-sealed-by-upstream',
      },
    };
    expect(turn).toMatchObject(expected[id]);
    if (id === 'to/responses') {
      const content = [{ type: 'output_text', text: SENTENCE }];
      expect(said).toEqual({ type: 'message', role: 'assistant', content });
    }
  });

  test('marks an answer cut by its cap as incomplete', async () => {
    upstreams[id].reset({ words: Array.from({ length: 20 }, () => ' so') });
    const { response } = await streamed({ model: id, input: 'hello', max_output_tokens: 16 });
    expect(response).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
    });
    expect(response.output.at(-1)).toMatchObject({ type: 'message', status: 'incomplete' });
  });

  test('asks the provider for structured output', async () => {
    const schema = {
      type: 'object',
      properties: { a: { type: 'number' } },
      required: ['a'],
      additionalProperties: false,
    };
    await openai.responses.create({
      model: id,
      input: 'hello',
      text: { format: { type: 'json_schema', name: 'letter', schema, strict: true } },
    });
    const { body } = upstreams[id].last;
    const asked = body.response_format?.json_schema ?? body.output_config?.format ?? body.text.format;
    expect(asked.schema).toMatchObject(schema);
  });

  test('fails the response and the stream when a provider fails in the middle', async () => {
    upstreams[id].reset({ fault: 'cut_stream' });
    const answer = await fetch(`${gateway.url}/api/v1/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: id, input: 'hello', stream: true }),
    });
    let text = '';
    await expect(
      (async () => {
        for await (const chunk of answer.body!) {
          text += Buffer.from(chunk).toString();
        }
      })(),
    ).rejects.toThrow('terminated');
    expect(text).toContain('event: response.failed\n');
    expect(text).toMatch(
      /event: error\ndata: \{"type":"error","sequence_number":\d+,"code":"provider_error"/,
    );
    expect(text).not.toContain('upstream secret');
  });
});

test('passes custom tools and namespaces to the model as functions and returns them in their own form', async () => {
  const tools = [
    {
      type: 'custom',
      name: 'patch',
      description: 'Edits',
      format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' },
    },
    {
      type: 'namespace',
      name: 'files',
      description: 'Files',
      tools: [{ type: 'function', name: 'read', parameters: {} }],
    },
    { type: 'web_search' },
    { type: 'image_generation' },
  ];
  const { headers, body } = await post({ model: 'to/openai', input: 'hello', tools });
  expect(headers.get('x-ignored-parameters')).toBe('tools[].web_search, tools[].image_generation');
  const sent = upstreams['to/openai'].last.body.tools.map((tool: { function: object }) => tool.function);
  expect(sent.map(({ name }: { name: string }) => name)).toEqual(['patch', 'files__read']);
  expect(sent[0].description).toContain('start: "x"');
  expect(body.output[0]).toMatchObject({
    type: 'custom_tool_call',
    name: 'patch',
    input: '{"city":"Paris"}',
  });

  const read = tools.slice(1, 2);
  const called = await post({ model: 'to/openai', input: 'hello', tools: read });
  expect(called.body.output[0]).toMatchObject({ type: 'function_call', name: 'read', namespace: 'files' });
  const { call_id } = body.output[0];
  await post({
    model: 'to/openai',
    input: [
      { role: 'user', content: 'hello' },
      { type: 'custom_tool_call', call_id, name: 'patch', input: 'x\n"y"' },
      {
        type: 'custom_tool_call_output',
        call_id,
        output: [
          { type: 'input_text', text: 'done' },
          { type: 'input_image', image_url: 'https://example.com/a.png' },
        ],
      },
      ...called.body.output,
      { type: 'function_call_output', call_id: called.body.output[0].call_id, output: 'read' },
    ],
  });
  expect(upstreams['to/openai'].last.body.messages).toEqual([
    { role: 'user', content: 'hello' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        { id: call_id, type: 'function', function: { name: 'patch', arguments: '{"input":"x\\n\\"y\\""}' } },
      ],
    },
    { role: 'tool', tool_call_id: call_id, content: 'done' },
    { role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }] },
    {
      role: 'assistant',
      content: null,
      tool_calls: [expect.objectContaining({ id: called.body.output[0].call_id })],
    },
    { role: 'tool', tool_call_id: called.body.output[0].call_id, content: 'read' },
  ]);
});

test.each([...MODELS])('applies updates of the configuration inside the input over %s', async (id) => {
  const schema = { type: 'object', properties: {}, additionalProperties: false };
  const format = { type: 'json_schema', name: 'facts', schema, strict: true };
  const plain = { model: id, reasoning: { effort: 'low' }, input: [{ role: 'user', content: 'one' }] };
  await post({ ...plain, reasoning: { effort: 'high' }, text: { format } });
  const expected = upstreams[id].requests.at(-1)!.body;
  const updated = await post({
    ...plain,
    input: [
      { type: 'configuration_update', reasoning: { effort: 'medium' }, text: { format } },
      ...plain.input,
      { type: 'configuration_update', id: 'cu_1', reasoning: { effort: 'high' } },
    ],
  });
  expect(updated.status).toBe(200);
  expect(updated.headers.get('x-ignored-parameters')).toBeNull();
  expect(upstreams[id].requests.at(-1)!.body).toEqual(expected);
});

test.each([
  [
    [
      { role: 'user', content: 'one' },
      { type: 'configuration_update', reasoning: 'high' },
    ],
    /^input\[1\]\.reasoning: /,
  ],
  [
    [{ type: 'configuration_update', reasoning: { effort: 'high' } }],
    /^input: contains only configuration updates/,
  ],
])('rejects malformed updates of the configuration: %j', async (input, message) => {
  const { status, body } = await post({ model: 'to/openai', input });
  expect([status, body.error.message]).toEqual([400, expect.stringMatching(message)]);
});

test("OpenRouter's SDK parses answers and streams", async () => {
  const router = new OpenRouter({ apiKey: 'k', serverURL: `${gateway.url}/api/v1` });
  const request = { model: 'to/openai', input: 'hello' };
  const answer = await router.beta.responses.send({ responsesRequest: request });
  expect(answer).toMatchObject({ status: 'completed', completedAt: expect.any(Number) });
  const events = await router.beta.responses.send({ responsesRequest: { ...request, stream: true } });
  const types: string[] = [];
  for await (const { type } of events as AsyncIterable<{ type: string }>) {
    types.push(type);
  }
  expect(types).not.toContain('UNKNOWN');
  expect(types).toEqual(expect.arrayContaining(['response.created', 'response.completed']));
});

test('merges instructions and the first developer messages, and calls only a forced tool', async () => {
  await post({
    model: 'to/openai',
    instructions: 'Be short.',
    input: [
      { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Be kind.' }] },
      { role: 'user', content: [{ type: 'input_text', text: 'hello' }] },
    ],
    tools: [WEATHER, { ...WEATHER, name: 'time' }],
    tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'time' }] },
    client_metadata: { a: 'b' },
    stop: ['x'],
  });
  const { messages, tools, tool_choice, stop } = upstreams['to/openai'].last.body;
  expect(messages).toEqual([
    {
      role: 'system',
      content: [
        { type: 'text', text: 'Be short.' },
        { type: 'text', text: 'Be kind.' },
      ],
    },
    { role: 'user', content: 'hello' },
  ]);
  expect(tools.map((tool: { function: { name: string } }) => tool.function.name)).toEqual(['time']);
  expect({ tool_choice, stop }).toEqual({ tool_choice: 'required', stop: undefined });
});

test.each([
  [{ previous_response_id: 'resp_1' }, 'previous_response_id: responses are not stored here'],
  [{ conversation: 'conv_1' }, 'conversation: responses are not stored here'],
  [{ background: true }, 'background: background responses are not supported'],
  [{ prompt: { id: 'p' } }, 'prompt: prompt templates are not stored'],
  [{ tools: [{ type: 'file_search', vector_store_ids: [] }] }, 'tools[0].type "file_search": only tools'],
  [
    { tools: [{ type: 'web_search' }], tool_choice: { type: 'web_search' } },
    'tool_choice: there is no tool "web_search"',
  ],
  [{ tools: [{ type: 'web_search' }], tool_choice: 'required' }, 'tool_choice: requires a tool that you run'],
  [
    { tools: [{ type: 'image_generation' }], tool_choice: { type: 'image_generation' } },
    'tool_choice: there is no tool "image_generation"',
  ],
  [{ input: [{ type: 'item_reference', id: 'msg_1' }] }, 'input: answers are not stored here'],
  [{ input: [{ type: 'web_search_call', id: 'ws_1' }] }, 'type "web_search_call" is not supported'],
  [{ input: [{ type: 'function_call_output', output: 'x' }] }, 'input[0].call_id: is required'],
  [
    { input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'f' }] }] },
    'files are not stored here',
  ],
  [{ model: 'to/pictures' }, 'is not available on this endpoint'],
])('rejects %j with an explanation', async (members, words) => {
  const before = upstreams['to/openai'].requests.length;
  const { status, body } = await post({ model: 'to/openai', input: 'hello', ...members });
  expect({ status, message: body.error?.message }).toEqual({
    status: 400,
    message: expect.stringContaining(words),
  });
  expect(upstreams['to/openai'].requests.length).toBe(before);
});

test.each(MODELS)(
  '%s: counts the input as it is charged without a report, asks no provider and holds nothing',
  async (to) => {
    const body = { model: to, instructions: 'Be brief.', input: SENTENCE, tools: [WEATHER] };
    const held = gateway.ledger.requests.length;
    const counted = await openai.responses.inputTokens.count(body);
    expect(upstreams[to].requests).toHaveLength(0);
    expect(gateway.ledger.requests).toHaveLength(held);

    upstreams[to].reset({ fault: 'no_usage' });
    await openai.responses.create(body);
    const { inputTokens } = gateway.ledger.last.usage;
    expect(counted).toMatchObject({ object: 'response.input_tokens', input_tokens: inputTokens });
    expect(inputTokens).toBeGreaterThan(20);
  },
);

test('refuses to count what it would refuse to answer', async () => {
  const counting = openai.responses.inputTokens.count({
    model: 'to/openai',
    input: 'hi',
    previous_response_id: 'resp_1',
  });
  await expect(counting).rejects.toThrow('400 previous_response_id: responses are not stored here');
});

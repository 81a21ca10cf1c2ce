import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { startOpenAiUpstream } from '../factories/upstream-openai.ts';
import type { UpstreamServer } from '../factories/upstream-server.ts';
import { Gateway, model } from './gateway.ts';

/** Servers of OpenAI's protocol accept what we build for them. The upstream rejects as OpenAI and Mistral do. */

let upstream: UpstreamServer;
let gateway: Gateway;
let openai: OpenAI;
let anthropic: Anthropic;

beforeAll(async () => {
  upstream = await startOpenAiUpstream();
  const names = { openai: 'gpt-4.1', thinker: 'gpt-5.2', mistral: 'mistral-large-latest', plain: 'kimi-k2' };
  gateway = await Gateway.start({
    providers: [{ id: 'up', protocol: 'openai', base_url: upstream.url }],
    models: [
      ...Object.entries(names).map(([id, name]) => model(id, [{ provider: 'up', model: name }])),
      ...['o3', 'gpt-5-mini', 'gpt-5.6-sol', 'gpt-6-astra', 'gpt-6.2-sol', 'gpt-35-turbo'].map((name) =>
        model(name, [{ provider: 'up', model: name }]),
      ),
      model('told', [{ provider: 'up', model: 'deployment-7', toolIds: 'openai' }]),
    ],
  });
  openai = new OpenAI({ apiKey: 'k', baseURL: `${gateway.url}/api/v1`, maxRetries: 0 });
  anthropic = new Anthropic({ apiKey: 'k', baseURL: gateway.url, maxRetries: 0 });
});

beforeEach(() => upstream.reset());

afterAll(async () => {
  await gateway?.close();
  await upstream?.close();
});

const HI = { role: 'user' as const, content: 'hello' };

/** The header of ignored members. */
async function message(body: object): Promise<string | null> {
  const params = {
    model: 'openai',
    messages: [HI],
    max_tokens: 100,
    ...body,
  } as Anthropic.MessageCreateParams;
  const { response } = await anthropic.messages.create({ ...params, stream: false }).withResponse();
  return response.headers.get('x-ignored-parameters');
}

function messagesHistory(id: string, before: object[] = []) {
  return [
    HI,
    { role: 'assistant', content: [...before, { type: 'tool_use', id, name: 'f', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'sunny' }] },
  ];
}

function chatHistory(id: string) {
  const call = { id, type: 'function' as const, function: { name: 'f', arguments: '{}' } };
  return [
    HI,
    { role: 'assistant' as const, tool_calls: [call] },
    { role: 'tool' as const, tool_call_id: id, content: 'sunny' },
  ];
}

const LONG_ID = `functions.look_up_${'x'.repeat(40)}:0`;

test.each([
  ['openai', LONG_ID, /^functions\.look_up_x{13}_[0-9a-f]{8}$/],
  ['openai', 'toolu_01', /^toolu_01$/],
  ['told', LONG_ID, /^.{31}_[0-9a-f]{8}$/],
  ['mistral', 'toolu_01', /^[0-9a-f]{9}$/],
  ['mistral', 'aB3dE6gH9', /^aB3dE6gH9$/],
  ['plain', LONG_ID, new RegExp(`^${LONG_ID}$`)],
])(
  '%s: sends ids of tool calls like %s, in calls and results alike, from both endpoints',
  async (id, given, expected) => {
    await message({ model: id, messages: messagesHistory(given) });
    const translated = upstream.last.body.messages;
    await openai.chat.completions.create({ model: id, messages: chatHistory(given) });
    for (const [, turn, result] of [translated, upstream.last.body.messages]) {
      expect(turn.tool_calls[0].id).toMatch(expected);
      expect(result.tool_call_id).toBe(turn.tool_calls[0].id);
    }
  },
);

test('makes schemas strict only where every property is required', async () => {
  const open = { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: false };
  const closed = { ...open, required: ['a'] };
  const nested = { ...closed, properties: { a: { type: 'array', items: open } } };
  const tool = (input_schema: object) => ({ name: 'f', input_schema, strict: true });
  const format = (schema: object) => ({ format: { type: 'json_schema', schema } });
  for (const [schema, strict] of [
    [open, false],
    [nested, false],
    [closed, true],
  ] as const) {
    const ignored = await message({ tools: [tool(schema)], output_config: format(schema) });
    const { tools, response_format } = upstream.last.body;
    expect(tools[0].function.strict).toBe(strict ? true : undefined);
    expect(response_format.json_schema).toEqual({ name: 'answer', schema, strict });
    expect(ignored).toBe(strict ? null : 'tools[].strict');
  }
});

test('shortens a long user name to the same name each time', async () => {
  const user_id = `user_${'a'.repeat(64)}_account__session_0e6f`;
  await message({ metadata: { user_id } });
  const told = upstream.last.body.user;
  expect(told).toMatch(/^[0-9a-f]{64}$/);
  await message({ metadata: { user_id } });
  expect(upstream.last.body.user).toBe(told);
  await message({ metadata: { user_id: 'short' } });
  expect(upstream.last.body.user).toBe('short');
});

test('leaves out a turn of thoughts alone, and rejects an empty request', async () => {
  const thought = { type: 'thinking', thinking: 'hm', signature: '' };
  await message({ model: 'mistral', messages: [HI, { role: 'assistant', content: [thought] }, HI] });
  // the questions around it are one turn for Mistral
  expect(upstream.last.body.messages).toEqual([{ ...HI, content: `${HI.content}\n\n${HI.content}` }]);
  await expect(message({ messages: [{ role: 'user', content: [] }] })).rejects.toMatchObject({
    status: 400,
    error: { error: { code: 'invalid_parameter' } },
  });
});

test('sends thoughts back with their calls to models that want them, and to no others', async () => {
  const thoughts = [
    { type: 'thinking', thinking: 'hm', signature: '' },
    { type: 'thinking', thinking: "Claude's", signature: 'c2ln' },
  ];
  await message({ model: 'plain', messages: messagesHistory('functions.f:0', thoughts) });
  expect(upstream.last.body.messages[1]).toMatchObject({ reasoning_content: 'hm' });
  await message({ messages: messagesHistory('toolu_01', thoughts) });
  expect(upstream.last.body.messages[1]).not.toHaveProperty('reasoning_content');
});

test('sends the reasoning of a chat back under the name that the model reads, and to no model that rejects it', async () => {
  const [ask, call, result] = chatHistory('call_1');
  const details = [{ type: 'reasoning.text', text: 'hm', index: 0 }];
  const chat = async (model: string, earlier: object) => {
    const messages = [ask, { ...call, ...earlier }, result] as OpenAI.ChatCompletionMessageParam[];
    const { response } = await openai.chat.completions.create({ model, messages }).withResponse();
    const { reasoning, reasoning_content, reasoning_details } = upstream.last.body.messages[1];
    const told = response.headers.get('x-ignored-parameters');
    return { told, reasoning, reasoning_content, reasoning_details };
  };
  const back = { told: null, reasoning: undefined, reasoning_content: 'hm' };
  expect(await chat('plain', { reasoning: 'hm' })).toMatchObject(back);
  expect(await chat('plain', { reasoning: 'hm', reasoning_details: details })).toMatchObject(back);
  expect(await chat('plain', { reasoning_details: details })).toMatchObject(back);
  expect(await chat('plain', { reasoning_content: 'hm' })).toMatchObject(back);
  for (const strict of ['openai', 'mistral']) {
    for (const [name, value] of Object.entries({
      reasoning: 'hm',
      reasoning_content: 'hm',
      reasoning_details: details,
    })) {
      expect(await chat(strict, { [name]: value })).toEqual({ told: `messages[].${name}` });
    }
  }
});

test('sends marks and signatures for other models to no model that rejects them', async () => {
  const cache_control = { type: 'ephemeral' };
  const text = { type: 'text', text: 'hello' };
  const call = { id: 'call_1', type: 'function', function: { name: 'look_up', arguments: '{}' } };
  const tool = {
    type: 'function',
    function: { name: 'look_up', parameters: { type: 'object', properties: {} } },
  };
  const chat = async (model: string) => {
    const signed = { ...call.function, thought_signature: 'c2ln' };
    const body = {
      model,
      messages: [
        { role: 'user', content: [{ ...text, cache_control }] },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            { ...call, function: signed, extra_content: { google: {} }, thought_signature: 'c2ln' },
          ],
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'found', cache_control },
      ],
      tools: [{ type: 'function', function: { ...tool.function, cache_control }, cache_control }],
    } as unknown as OpenAI.ChatCompletionCreateParamsNonStreaming;
    const { response } = await openai.chat.completions.create(body).withResponse();
    const { messages, tools } = upstream.last.body;
    return { told: response.headers.get('x-ignored-parameters'), sent: JSON.stringify([messages, tools]) };
  };
  const foreign = /cache_control|extra_content|thought_signature/;
  const all = await chat('plain');
  expect(all.told).toBeNull();
  expect(all.sent.match(new RegExp(foreign, 'g'))).toHaveLength(7);
  const strict = await chat('openai');
  expect(strict.sent).not.toMatch(foreign);
  expect(strict.told?.split(', ')).toHaveLength(7);
  const [ask, answer, result] = upstream.last.body.messages;
  expect(ask).toEqual({ role: 'user', content: [text] });
  expect(answer.tool_calls).toEqual([call]);
  expect(result).toEqual({ role: 'tool', tool_call_id: 'call_1', content: 'found' });
  expect(upstream.last.body.tools).toEqual([tool]);
});

test('leaves out by name what the protocol cannot express', async () => {
  const ignored = await message({
    model: 'thinker',
    temperature: 0.5,
    top_k: 3,
    cache_control: { type: 'ephemeral' },
    thinking: { type: 'enabled', budget_tokens: 2_000 },
    output_config: { effort: 'low' },
    max_tokens: 4_000,
  });
  expect(ignored?.split(', ').sort()).toEqual([
    'cache_control',
    'output_config.effort',
    'temperature',
    'thinking',
    'top_k',
  ]);
});

test.each(['o3', 'gpt-5-mini', 'gpt-5.6-sol', 'gpt-6-astra', 'gpt-6.2-sol'])(
  'leaves out the sampling settings that %s rejects',
  async (name) => {
    expect(await message({ model: name, temperature: 0, top_p: 0.5 })).toBe('temperature, top_p');
    const { response } = await openai.chat.completions
      .create({
        model: name,
        messages: [HI],
        temperature: 0.2,
        presence_penalty: 0.5,
        frequency_penalty: 0.5,
      })
      .withResponse();
    expect(response.headers.get('x-ignored-parameters')).toBe(
      'temperature, presence_penalty, frequency_penalty',
    );
  },
);

test('an older model of a similar name keeps its sampling settings', async () => {
  expect(await message({ model: 'gpt-35-turbo', temperature: 0 })).toBeNull();
  expect(upstream.last.body).toMatchObject({ temperature: 0 });
});

test('reports nothing as ignored for disabled thinking', async () => {
  expect(await message({ thinking: { type: 'disabled' } })).toBeNull();
});

test.each([
  ['a tool that the provider runs', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
  ['a tool of the screen', { tools: [{ type: 'computer_20250124', name: 'computer' }] }],
  ['an image by its id', [{ type: 'image', source: { type: 'file', file_id: 'f' } }]],
  [
    'a document by its address',
    [{ type: 'document', source: { type: 'url', url: 'https://a.example/b.pdf' } }],
  ],
])('rejects %s', async (_, part) => {
  const body = Array.isArray(part) ? { messages: [{ role: 'user', content: part }] } : part;
  await expect(message(body)).rejects.toMatchObject({ status: 400 });
  expect(upstream.requests).toHaveLength(0);
});

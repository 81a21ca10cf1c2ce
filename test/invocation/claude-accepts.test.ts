import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { eventually } from '../factories/eventually.ts';
import type { UpstreamServer } from '../factories/upstream-server.ts';
import { ClaudeGateway } from './claude-gateway.ts';
import { type Gateway, model } from './gateway.ts';

/** Claude accepts what we build for it, and left-out parts are named. The upstream rejects as the real one does. */

let servers: ClaudeGateway;
let upstream: UpstreamServer;
let chatUpstream: UpstreamServer;
let gateway: Gateway;
let openai: OpenAI;
let anthropic: Anthropic;

beforeAll(async () => {
  servers = await ClaudeGateway.start([
    model('older', [{ provider: 'anthropic', model: 'claude-sonnet-4-5' }]),
    model('newer', [{ provider: 'anthropic', model: 'anthropic.claude-opus-4-7-v1:0' }]),
    model('latest', [{ provider: 'anthropic', model: 'claude-opus-4-8' }]),
    model('told', [{ provider: 'anthropic', model: 'mine', drop: ['top_p'], thinking: 'adaptive' }]),
    model('vertex', [{ provider: 'anthropic', model: 'vertex/claude-opus-4-8' }]),
    model('proxied', [{ provider: 'anthropic', model: 'older-schema/claude-opus-4-8' }]),
    model('told-proxied', [
      {
        provider: 'anthropic',
        model: 'older-schema/claude-opus-4-8',
        drop: [
          'context_management',
          'thinking.display',
          'output_config.effort',
          'tools[].strict',
          'tools[].cache_control',
        ],
      },
    ]),
    model('gemini', [{ provider: 'openai', model: 'gemini-3' }]),
  ]);
  ({ upstream, chatUpstream, gateway } = servers);
  openai = new OpenAI({ apiKey: 'k', baseURL: `${gateway.url}/api/v1`, maxRetries: 0 });
  anthropic = new Anthropic({ apiKey: 'k', baseURL: gateway.url, maxRetries: 0 });
});

beforeEach(() => {
  upstream.reset();
  chatUpstream.reset();
});

afterAll(() => servers?.close());

const HI = [{ role: 'user' as const, content: 'hello' }];

async function chat(body: object): Promise<string | null> {
  const params = {
    model: 'older',
    messages: HI,
    max_tokens: 4_000,
    ...body,
  } as OpenAI.ChatCompletionCreateParams;
  const { response } = await openai.chat.completions.create({ ...params, stream: false }).withResponse();
  return response.headers.get('x-ignored-parameters');
}

async function message(body: object): Promise<string | null> {
  const params = {
    model: 'older',
    messages: HI,
    max_tokens: 4_000,
    ...body,
  } as Anthropic.MessageCreateParams;
  const { response } = await anthropic.messages.create({ ...params, stream: false }).withResponse();
  return response.headers.get('x-ignored-parameters');
}

test('sends sampling settings according to the model, from both endpoints', async () => {
  expect(await chat({ top_p: 0.5 })).toBeNull();
  expect(upstream.last.body).toMatchObject({ top_p: 0.5 });
  for (const ask of [chat, message]) {
    expect(await ask({ temperature: 0, top_p: 0.5 })).toBe('top_p');
    expect(upstream.last.body).toMatchObject({ temperature: 0 });
  }
  expect(await chat({ model: 'newer', temperature: 0, top_p: 0.5 })).toBe('temperature, top_p');
  expect(upstream.last.body).not.toHaveProperty('temperature');
  expect(await message({ model: 'newer', temperature: 0, top_k: 3 })).toBe('temperature, top_k');
  expect(await chat({ model: 'told', temperature: 0, top_p: 0.5 })).toBe('top_p');
  expect(upstream.last.body).toMatchObject({ temperature: 0 });
});

test('asks for thinking by a budget or adaptively, depending on the model', async () => {
  await chat({ reasoning_effort: 'high' });
  expect(upstream.last.body.thinking).toEqual({ type: 'enabled', budget_tokens: 3_200 });
  await chat({ model: 'newer', reasoning_effort: 'high' });
  expect(upstream.last.body).toMatchObject({
    thinking: { type: 'adaptive' },
    output_config: { effort: 'high' },
  });
  await message({ model: 'newer', thinking: { type: 'enabled', budget_tokens: 2_000 } });
  expect(upstream.last.body).toMatchObject({
    thinking: { type: 'adaptive' },
    output_config: { effort: 'low' },
  });
  await message({ model: 'newer', thinking: { type: 'adaptive' } });
  expect(upstream.last.body.thinking).toEqual({ type: 'adaptive' });
  expect(upstream.last.body).not.toHaveProperty('output_config');
  expect(await chat({ reasoning_effort: 'high', temperature: 0.2 })).toBe('temperature');
});

test('rejects thinking that would use up the whole answer, like Anthropic, except when it spans several answers', async () => {
  const thinking = { type: 'enabled', budget_tokens: 2_000 };
  await expect(message({ max_tokens: 2_000, thinking })).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining('thinking.budget_tokens: must be below max_tokens, which is 2000'),
  });
  expect(upstream.requests).toHaveLength(0);
  const params = {
    model: 'older',
    messages: HI,
    max_tokens: 2_000,
    thinking,
  } as Anthropic.MessageCreateParamsNonStreaming;
  await anthropic.messages.create(params, {
    headers: { 'anthropic-beta': 'interleaved-thinking-2025-05-14' },
  });
  expect(upstream.requests).toHaveLength(1);
});

const HISTORY = [
  ...HI,
  {
    role: 'assistant' as const,
    tool_calls: [
      { id: 'functions.weather:0', type: 'function' as const, function: { name: 'f', arguments: '{}' } },
    ],
  },
  { role: 'tool' as const, tool_call_id: 'functions.weather:0', content: 'sunny' },
];

test('continues a tool history without thinking, and says so', async () => {
  expect(await chat({ messages: HISTORY, reasoning_effort: 'high' })).toBe('reasoning_effort');
  expect(upstream.last.body).not.toHaveProperty('thinking');
  expect(await chat({ model: 'newer', messages: HISTORY, reasoning_effort: 'high' })).toBeNull();
  expect(upstream.last.body.thinking).toEqual({ type: 'adaptive', display: 'summarized' });
});

test('cleans tool ids in calls and results alike, on both endpoints', async () => {
  await chat({ messages: HISTORY });
  const [, { content }, { content: results }] = upstream.last.body.messages;
  expect(content[0].id).toMatch(/^functions_weather_0_[0-9a-f]{8}$/);
  expect(results[0].tool_use_id).toBe(content[0].id);
  await message({ messages: messagesHistory('a.b:1', []) });
  const ids = upstream.last.body.messages.slice(1).map((turn: { content: [object] }) => turn.content[0]);
  expect(ids[0].id).toMatch(/^a_b_1_[0-9a-f]{8}$/);
  expect(ids[0].id).toBe(ids[1].tool_use_id);
});

function messagesHistory(id: string, before: object[]) {
  return [
    ...HI,
    { role: 'assistant', content: [...before, { type: 'tool_use', id, name: 'f', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'sunny' }] },
  ];
}

test('leaves out unsigned thinking', async () => {
  const unsigned = { type: 'thinking', thinking: 'hm', signature: '' };
  const thinking = { type: 'enabled', budget_tokens: 1_024 };
  await message({ messages: messagesHistory('toolu_1', [unsigned]), thinking });
  expect(upstream.last.body.messages[1].content).toHaveLength(1);
  expect(upstream.last.body).not.toHaveProperty('thinking');
  const signed = { ...unsigned, signature: 'sig' };
  await message({ messages: messagesHistory('toolu_1', [signed]), thinking });
  expect(upstream.last.body.messages[1].content).toHaveLength(2);
  expect(upstream.last.body.thinking).toEqual(thinking);
});

test('moves schema keywords Claude rejects into the description', async () => {
  const schema = {
    type: 'object',
    properties: {
      age: { type: 'integer', minimum: 0, maximum: 150 },
      name: { type: 'string', maxLength: 20, description: 'Full name' },
      kind: { oneOf: [{ type: 'string' }, { type: 'object', properties: {} }] },
      tags: { type: 'array', items: { type: 'string' }, maxItems: 3, minItems: 1 },
    },
    required: ['age'],
  };
  await chat({ response_format: { type: 'json_schema', json_schema: { name: 'p', schema } } });
  expect(upstream.last.body.output_config.format.schema).toEqual({
    type: 'object',
    properties: {
      age: { type: 'integer', description: '{minimum: 0, maximum: 150}' },
      name: { type: 'string', description: 'Full name\n\n{maxLength: 20}' },
      kind: { anyOf: [{ type: 'string' }, { type: 'object', properties: {}, additionalProperties: false }] },
      tags: { type: 'array', items: { type: 'string' }, minItems: 1, description: '{maxItems: 3}' },
    },
    required: ['age'],
    additionalProperties: false,
  });
  const parameters = { properties: { n: { type: 'integer', minimum: 1 } } };
  await chat({ tools: [{ type: 'function', function: { name: 'f', parameters, strict: true } }] });
  expect(upstream.last.body.tools[0].input_schema).toMatchObject({
    type: 'object',
    additionalProperties: false,
  });
  await chat({ tools: [{ type: 'function', function: { name: 'f', parameters } }] });
  expect(upstream.last.body.tools[0].input_schema).toEqual({ type: 'object', ...parameters });
});

test('sends a prompt with only instructions as a user message, and rejects an empty one', async () => {
  await chat({ messages: [{ role: 'system', content: 'Say hello.' }] });
  expect(upstream.last.body).toMatchObject({
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Say hello.' }] }],
  });
  expect(upstream.last.body).not.toHaveProperty('system');
  await expect(chat({ messages: [{ role: 'user', content: [] }] })).rejects.toMatchObject({ status: 400 });
});

test('leaves out tuning parameters by name and rejects those that change the meaning', async () => {
  expect(await chat({ seed: 1, presence_penalty: 0.5 })).toBe('seed, presence_penalty');
  await expect(chat({ logprobs: true })).rejects.toMatchObject({ status: 400, code: 'invalid_parameter' });
});

test('carries a thought signature in the id of its call and back, and nowhere else', async () => {
  const id = `call_1__thought__${Buffer.from('c2ln+/=').toString('base64url')}`;
  await message({ model: 'gemini', messages: messagesHistory(id, []) });
  expect(chatUpstream.last.body.messages.slice(1)).toMatchObject([
    {
      tool_calls: [{ id: 'call_1', extra_content: { google: { thought_signature: 'c2ln+/=' } } }],
    },
    { role: 'tool', tool_call_id: 'call_1' },
  ]);
  await message({ messages: messagesHistory(id, []) });
  expect(upstream.last.body.messages[1].content[0].id).toBe('call_1');
});

const CALL = { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} };
const RESULT = { type: 'tool_result', tool_use_id: 'toolu_1', content: 'r', is_error: true };
const INSTRUCTED = [
  { role: 'system', content: 'first' },
  { role: 'user', content: 'hello' },
  { role: 'assistant', content: [CALL] },
  { role: 'system', content: [{ type: 'text', text: 'mind' }] },
  { role: 'user', content: [RESULT] },
];

test('sends system turns to models that know them, and reminders after the results to others', async () => {
  await message({ model: 'latest', messages: INSTRUCTED });
  const roles = upstream.last.body.messages.map(({ role }: { role: string }) => role);
  expect(roles).toEqual(['system', 'user', 'assistant', 'user', 'system']);
  await message({ model: 'older', system: 'zero', messages: INSTRUCTED });
  expect(upstream.last.body.system).toEqual([
    { type: 'text', text: 'zero' },
    { type: 'text', text: 'first' },
  ]);
  expect(upstream.last.body.messages.at(-1)).toEqual({
    role: 'user',
    content: [RESULT, { type: 'text', text: '<system-reminder>\nmind\n</system-reminder>' }],
  });
  await message({ model: 'gemini', messages: INSTRUCTED });
  expect(chatUpstream.last.body.messages.slice(-2)).toEqual([
    { role: 'tool', tool_call_id: 'toolu_1', content: 'Error: r' },
    { role: 'system', content: 'mind' },
  ]);
});

const MANAGED = {
  context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] },
  tools: [{ name: 'f', input_schema: { type: 'object' }, defer_loading: true }],
};

test('passes listed betas on with their members, and leaves the members out without them', async () => {
  const betas = ['context-management-2025-06-27', 'advanced-tool-use-2025-11-20', 'context-1m-2025-08-07'];
  const headers = { 'anthropic-beta': betas.join(', ') };
  const request = { model: 'older', messages: HI, max_tokens: 10, ...MANAGED };
  await anthropic.messages.create(request as unknown as Anthropic.MessageCreateParamsNonStreaming, {
    headers,
  });
  expect(upstream.last.headers['anthropic-beta']).toBe(betas.slice(0, 2).join(','));
  expect(upstream.last.body).toMatchObject(MANAGED);
  expect(await message({ ...MANAGED })).toBe('context_management, tools[].defer_loading');
  expect(upstream.last.headers).not.toHaveProperty('anthropic-beta');
  expect(upstream.last.body.tools).toEqual([{ name: 'f', input_schema: { type: 'object' } }]);
  const compaction = { context_management: { edits: [{ type: 'compact_20260112' }] } };
  await anthropic.messages.create(
    { ...request, ...compaction } as unknown as Anthropic.MessageCreateParamsNonStreaming,
    { headers },
  );
  expect(upstream.last.body).not.toHaveProperty('context_management');
});

test.each([false, true])(
  'goes on without betas that a server rejects, and says so (stream: %s)',
  async (stream) => {
    const betas = ['claude-code-20250219', 'context-management-2025-06-27', 'advanced-tool-use-2025-11-20'];
    const request = { model: 'vertex', messages: HI, max_tokens: 10, ...MANAGED, stream };
    const before = gateway.ledger.settlements.length;
    const { response } = await anthropic.messages
      .create(request as unknown as Anthropic.MessageCreateParamsNonStreaming, {
        headers: { 'anthropic-beta': betas.join(',') },
      })
      .withResponse();
    await response.text().catch(() => undefined);
    expect(upstream.requests).toHaveLength(2);
    expect(upstream.last.headers['anthropic-beta']).toBe('claude-code-20250219');
    expect(upstream.last.body).not.toHaveProperty('context_management');
    expect(upstream.last.body.tools).toEqual([{ name: 'f', input_schema: { type: 'object' } }]);
    const ignored = ['anthropic-beta', 'context_management', 'tools[].defer_loading'];
    await eventually(async () => gateway.ledger.settlements.length > before);
    expect(gateway.ledger.last).toMatchObject({ status: 'completed', metering: { ignored } });
    expect(response.headers.get('x-ignored-parameters')).toBe(stream ? null : ignored.join(', '));
  },
);

const CACHED = { type: 'ephemeral' };
const FULL = {
  system: [{ type: 'text', text: 'be brief', cache_control: CACHED }],
  tools: [
    {
      name: 'f',
      input_schema: { type: 'object', additionalProperties: false },
      strict: true,
      cache_control: CACHED,
    },
  ],
  thinking: { type: 'adaptive', display: 'summarized' },
  output_config: { effort: 'low' },
  context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
};
const REFUSED = [
  'context_management',
  'output_config.effort',
  'thinking.display',
  'tools[].strict',
  'tools[].cache_control',
];

test.each([
  ['proxied', 6],
  ['told-proxied', 1],
])('sends members that an older server knows to %s, in %i requests', async (name, requests) => {
  const headers = { 'anthropic-beta': 'context-management-2025-06-27' };
  const request = { model: name, messages: HI, max_tokens: 100, ...FULL };
  const { response } = await anthropic.messages
    .create(request as unknown as Anthropic.MessageCreateParamsNonStreaming, { headers })
    .withResponse();
  expect(upstream.requests).toHaveLength(requests);
  const { system, tools, thinking, ...rest } = upstream.last.body;
  expect({ system, tools, thinking }).toEqual({
    system: FULL.system,
    tools: [{ name: 'f', input_schema: { type: 'object', additionalProperties: false } }],
    thinking: { type: 'adaptive' },
  });
  expect(rest).not.toHaveProperty('output_config');
  expect(rest).not.toHaveProperty('context_management');
  const ignored = response.headers.get('x-ignored-parameters')?.split(', ') ?? [];
  expect(ignored.toSorted()).toEqual(REFUSED.toSorted());
});

test('names what an older server rejects as the caller of chat knows it', async () => {
  const tool = {
    type: 'function',
    function: { name: 'f', strict: true, parameters: FULL.tools[0]?.input_schema },
  };
  const ignored = await chat({ model: 'proxied', reasoning_effort: 'low', tools: [tool] });
  expect(ignored).toBe('reasoning_effort, tools[].function.strict');
});

test('clears no thinking where the model is not asked to think', async () => {
  const headers = { 'anthropic-beta': 'context-management-2025-06-27' };
  const create = (body: object) =>
    anthropic.messages
      .create(
        {
          model: 'older',
          messages: HI,
          max_tokens: 100,
          ...body,
        } as unknown as Anthropic.MessageCreateParamsNonStreaming,
        { headers },
      )
      .withResponse();
  const clearTools = { type: 'clear_tool_uses_20250919' };
  const [clearThinking] = FULL.context_management.edits;
  const { response } = await create({ context_management: { edits: [clearThinking, clearTools] } });
  expect(upstream.last.body.context_management).toEqual({ edits: [clearTools] });
  expect(response.headers.get('x-ignored-parameters')).toBe('context_management');
  await create({ context_management: { edits: [clearThinking] } });
  expect(upstream.last.body).not.toHaveProperty('context_management');
});

test('lists tools from a system turn with the others where the provider does not get the beta', async () => {
  const definition = { name: 'late', input_schema: { type: 'object' } };
  const added = (tool: object) => [
    ...HI,
    {
      role: 'system',
      content: [{ type: 'tool_addition', tool: { type: 'tool_definition', definition: tool } }],
    },
  ];
  await message({ messages: added(definition) });
  expect(upstream.last.body.tools).toEqual([definition]);
  await message({ model: 'gemini', messages: added(definition) });
  expect(chatUpstream.last.body.tools[0].function.name).toBe('late');
  const hosted = { type: 'web_search_20250305', name: 'web_search' };
  await expect(message({ messages: added(hosted) })).rejects.toThrow('only tools that the caller runs');
});

test('accepts search results beside the text, whose source is a string; that of other blocks is an object', async () => {
  const found = {
    type: 'search_result',
    source: 'https://a.example',
    title: 't',
    content: [{ type: 'text', text: 'found' }],
  };
  const text = { type: 'text', text: 'hello' };
  await message({ messages: [{ role: 'user', content: [found, text] }] });
  expect(upstream.last.body.messages[0].content).toEqual([found, text]);
  const image = { type: 'image', source: 'https://a.example' };
  await expect(message({ messages: [{ role: 'user', content: [image] }] })).rejects.toThrow(
    'messages[0].content[0].source: must be an object',
  );
});

test('counts tokens free of charge, even beyond the context, and agrees with the hold of a call', async () => {
  const before = gateway.ledger.settlements.length;
  const count = (text: string) =>
    anthropic.messages.countTokens({ model: 'older', messages: [{ role: 'user', content: text }] });
  expect((await count('one two three')).input_tokens).toBe(7);
  expect((await count('word '.repeat(150_000))).input_tokens).toBeGreaterThan(150_000);
  await expect(
    anthropic.messages.countTokens({ model: 'nobody', messages: [{ role: 'user', content: 'x' }] }),
  ).rejects.toThrow('there is no model');
  expect(upstream.requests).toEqual([]);
  expect(gateway.ledger.settlements.length).toBe(before);
});

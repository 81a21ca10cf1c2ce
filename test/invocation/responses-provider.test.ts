import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import type { ResponseInput } from 'openai/resources/responses/responses';
import { eventually } from '../factories/eventually.ts';
import { startAnthropicUpstream } from '../factories/upstream-anthropic.ts';
import { startResponsesUpstream } from '../factories/upstream-responses.ts';
import type { UpstreamServer } from '../factories/upstream-server.ts';
import { Gateway, model } from './gateway.ts';

/** What only a provider that is asked in Responses does. What all protocols do is in responses.test.ts and faults.test.ts. */

const SENTENCE = 'The quick brown fox jumps over the lazy dog';
const SEALED = 'gAAAA-sealed-by-upstream';
/** … as clients see it, prefixed with who sealed it. */
const MARKED = expect.stringMatching(new RegExp(`^[0-9a-f]{12}\\.${SEALED}$`));
const SCHEMA = { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] };
const PNG = 'data:image/png;base64,iVBORw0KGgo=';
const PATCH = {
  type: 'custom' as const,
  name: 'patch',
  description: 'Edits',
  format: { type: 'grammar' as const, syntax: 'lark' as const, definition: 'start: "x"' },
};

let upstream: UpstreamServer;
let claude: UpstreamServer;
let gateway: Gateway;
let openai: OpenAI;
let anthropic: Anthropic;

beforeAll(async () => {
  [upstream, claude] = await Promise.all([startResponsesUpstream(), startAnthropicUpstream()]);
  const azure = { api_key: 'sk-upstream', api_key_header: 'api-key', query: { 'api-version': 'v1' } };
  gateway = await Gateway.start({
    providers: [
      { id: 'one', protocol: 'responses', base_url: upstream.url, ...azure },
      { id: 'two', protocol: 'anthropic', base_url: claude.url },
      { id: 'three', protocol: 'responses', base_url: upstream.url },
    ],
    models: [
      model('gpt-5', [{ provider: 'one', model: 'gpt-5' }], { supportedParameters: ['reasoning'] }),
      model('elsewhere', [{ provider: 'three', model: 'gpt-5' }]),
      model('unverified', [{ provider: 'one', model: 'unverified/gpt-5' }], {
        supportedParameters: ['reasoning'],
      }),
      model('gpt-4', [{ provider: 'one', model: 'gpt-4o' }]),
      model('claude', [{ provider: 'two', model: 'claude' }]),
    ],
  });
  openai = new OpenAI({ apiKey: 'k', baseURL: `${gateway.url}/api/v1`, maxRetries: 0 });
  anthropic = new Anthropic({ apiKey: 'k', baseURL: gateway.url, maxRetries: 0 });
});

beforeEach(() => {
  upstream.reset();
  claude.reset();
});

afterAll(async () => {
  await gateway?.close();
  await Promise.all([upstream?.close(), claude?.close()]);
});

async function post(path: string, body: object) {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(gateway.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  // biome-ignore lint/suspicious/noExplicitAny: answers of several shapes
  return { headers: answer.headers, status: answer.status, body: (await answer.json()) as any };
}

test('translates a chat request for the provider, and its answer', async () => {
  upstream.reset({ reasoning: 'hm hm', cacheRead: 5 });
  const { body, headers } = await post('/api/v1/chat/completions', {
    model: 'gpt-5',
    messages: [
      { role: 'developer', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is it?' },
          { type: 'image_url', image_url: { url: PNG } },
        ],
      },
      {
        role: 'assistant',
        content: 'Let me see.',
        tool_calls: [
          { id: 'call_9', type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } },
          { id: 'call_8', type: 'custom', custom: { name: 'patch', input: 'x' } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_9', content: '21 °C' },
      { role: 'tool', tool_call_id: 'call_8', content: [{ type: 'text', text: 'done' }] },
    ],
    tools: [
      { type: 'function', function: { name: 'weather', parameters: SCHEMA } },
      {
        type: 'custom',
        custom: {
          name: 'patch',
          format: { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: "x"' } },
        },
      },
    ],
    tool_choice: {
      type: 'allowed_tools',
      allowed_tools: { mode: 'auto', tools: [{ type: 'custom', custom: { name: 'patch' } }] },
    },
    parallel_tool_calls: false,
    response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: {}, strict: false } },
    reasoning_effort: 'low',
    verbosity: 'low',
    max_completion_tokens: 50,
    temperature: 0.5,
    seed: 7,
    prompt_cache_key: 'cache',
  });
  expect(upstream.last.headers).toMatchObject({ 'api-key': 'sk-upstream' });
  expect(upstream.last.path).toBe('/v1/responses?api-version=v1');
  expect(upstream.last.body).toEqual({
    model: 'gpt-5',
    store: false,
    stream: false,
    max_output_tokens: 50,
    include: ['reasoning.encrypted_content'],
    input: [
      { type: 'message', role: 'developer', content: 'Be brief.' },
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'What is it?' },
          { type: 'input_image', image_url: PNG, detail: 'auto' },
        ],
      },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Let me see.' }] },
      { type: 'function_call', call_id: 'call_9', name: 'weather', arguments: '{"city":"Rome"}' },
      { type: 'custom_tool_call', call_id: 'call_8', name: 'patch', input: 'x' },
      { type: 'function_call_output', call_id: 'call_9', output: '21 °C' },
      { type: 'custom_tool_call_output', call_id: 'call_8', output: [{ type: 'input_text', text: 'done' }] },
    ],
    tools: [
      { type: 'function', name: 'weather', parameters: SCHEMA, strict: false },
      { type: 'custom', name: 'patch', format: PATCH.format },
    ],
    tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'custom', name: 'patch' }] },
    parallel_tool_calls: false,
    text: { format: { type: 'json_schema', name: 'answer', schema: {}, strict: false }, verbosity: 'low' },
    reasoning: { effort: 'low' },
    prompt_cache_key: 'cache',
  });
  expect(headers.get('x-ignored-parameters')).toBe('temperature, seed');
  expect(body.choices[0].message).toMatchObject({
    content: `1 image: ${SENTENCE}`,
    reasoning: 'hm hm',
    reasoning_details: [{ type: 'reasoning.encrypted', data: MARKED, format: 'openai-responses-v1' }],
  });
  expect(body.usage).toMatchObject({ prompt_tokens: 20, cache_read_tokens: 5, reasoning_tokens: 2 });
  expect(JSON.stringify(body)).not.toMatch(/_upstream/);
});

test.each([false, true])('continues a chat from its reasoning and its calls (stream: %s)', async (stream) => {
  upstream.reset({ reasoning: 'hm hm' });
  const tools = [{ type: 'function' as const, function: { name: 'weather', parameters: SCHEMA } }];
  const asked = { model: 'gpt-5', tools };
  const user = { role: 'user' as const, content: 'both' };
  const first = stream
    ? await openai.chat.completions.stream({ ...asked, messages: [user] }).finalChatCompletion()
    : await openai.chat.completions.create({ ...asked, messages: [user] });
  const { message, finish_reason } = first.choices[0]!;
  expect(finish_reason).toBe('tool_calls');
  expect(message.tool_calls).toMatchObject([
    { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Paris"}' } },
    { id: 'call_2', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } },
  ]);
  const details = [{ type: 'reasoning.encrypted', data: MARKED, format: 'openai-responses-v1', index: 0 }];
  expect(message).toMatchObject({ reasoning_details: details });
  const results = ['call_1', 'call_2'].map((id) => ({
    role: 'tool' as const,
    tool_call_id: id,
    content: 'warm',
  }));
  const second = await openai.chat.completions.create({ ...asked, messages: [user, message, ...results] });
  expect(second.choices[0]!.message.content).toBe(SENTENCE);
  expect(upstream.last.body.input.slice(1)).toEqual([
    { type: 'reasoning', summary: [], encrypted_content: SEALED },
    { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{"city":"Paris"}' },
    { type: 'function_call', call_id: 'call_2', name: 'weather', arguments: '{"city":"Oslo"}' },
    { type: 'function_call_output', call_id: 'call_1', output: 'warm' },
    { type: 'function_call_output', call_id: 'call_2', output: 'warm' },
  ]);
});

test.each([false, true])('translates messages with tools and thinking (stream: %s)', async (stream) => {
  upstream.reset({ reasoning: 'hm hm' });
  const asked = {
    model: 'gpt-5',
    max_tokens: 4_000,
    system: 'Be brief.',
    thinking: { type: 'enabled' as const, budget_tokens: 2_000 },
    tools: [{ name: 'weather', input_schema: SCHEMA }],
  };
  const user = { role: 'user' as const, content: 'both' };
  const params = { ...asked, messages: [user] };
  const first = stream
    ? await anthropic.messages.stream(params).finalMessage()
    : await anthropic.messages.create(params);
  expect(first.stop_reason).toBe('tool_use');
  expect(first.content).toMatchObject([
    { type: 'thinking', thinking: 'hm hm' },
    { type: 'redacted_thinking', data: expect.stringContaining(SEALED) },
    { type: 'tool_use', name: 'weather', input: { city: 'Paris' } },
    { type: 'tool_use', name: 'weather', input: { city: 'Oslo' } },
  ]);
  const results = first.content.flatMap((block) =>
    block.type === 'tool_use'
      ? [{ type: 'tool_result' as const, tool_use_id: block.id, content: 'warm' }]
      : [],
  );
  const second = await anthropic.messages.create({
    ...asked,
    messages: [user, { role: 'assistant', content: first.content }, { role: 'user', content: results }],
  });
  expect(second.content.at(-1)).toMatchObject({ type: 'text', text: SENTENCE });
  expect(second.usage).toMatchObject({ input_tokens: 20, output_tokens: 11 });
  expect(upstream.last.body).toMatchObject({ reasoning: { effort: 'medium' }, max_output_tokens: 4_000 });
  expect(upstream.last.body.input).toContainEqual({
    type: 'reasoning',
    summary: [],
    encrypted_content: SEALED,
  });
});

test('passes Responses on to the provider unchanged, and its events back', async () => {
  upstream.reset({ reasoning: 'hm hm' });
  const asked = {
    model: 'gpt-5',
    instructions: 'Be short.',
    tools: [
      PATCH,
      {
        type: 'namespace' as const,
        name: 'files',
        description: 'Files',
        tools: [{ type: 'function' as const, name: 'read', parameters: SCHEMA, strict: null }],
      },
    ],
    tool_choice: { type: 'custom' as const, name: 'patch' },
    include: ['reasoning.encrypted_content' as const],
    reasoning: { effort: 'high' as const, summary: 'auto' as const },
    text: { verbosity: 'high' as const },
    store: false,
  };
  const user = {
    role: 'user' as const,
    content: [
      { type: 'input_text' as const, text: 'go' },
      { type: 'input_image' as const, image_url: PNG, detail: 'high' as const },
    ],
  };
  const events = [];
  for await (const event of await openai.responses.create({ ...asked, input: [user], stream: true })) {
    events.push(event);
  }
  const kinds = events.map(({ type }) => type.replace(/^response\./, ''));
  expect(kinds).toEqual([
    ...['created', 'in_progress', 'output_item.added', 'reasoning_summary_part.added'],
    ...['reasoning_summary_text.delta', 'reasoning_summary_text.done', 'reasoning_summary_part.done'],
    ...['output_item.done', 'output_item.added', 'custom_tool_call_input.delta'],
    ...['custom_tool_call_input.delta', 'custom_tool_call_input.done', 'output_item.done', 'completed'],
  ]);
  const last = events.at(-1)!;
  const output = last.type === 'response.completed' ? last.response.output : [];
  expect(output[1]).toMatchObject({ type: 'custom_tool_call', name: 'patch', input: '{"city":"Paris"}' });
  expect(upstream.last.body).toEqual({
    model: 'gpt-5',
    store: false,
    stream: true,
    max_output_tokens: 4_096,
    instructions: 'Be short.',
    include: ['reasoning.encrypted_content'],
    input: [{ type: 'message', ...user }],
    tools: [PATCH, { type: 'function', name: 'files__read', parameters: SCHEMA, strict: null }],
    tool_choice: { type: 'custom', name: 'patch' },
    reasoning: { effort: 'high', summary: 'auto' },
    text: { verbosity: 'high' },
  });

  const result = {
    type: 'custom_tool_call_output' as const,
    call_id: 'call_1',
    output: [{ type: 'input_image' as const, image_url: PNG, detail: 'auto' as const }],
  };
  const read = {
    type: 'function_call',
    call_id: 'call_5',
    name: 'read',
    namespace: 'files',
    arguments: '{}',
  };
  const input = [
    user,
    ...output,
    result,
    read,
    { type: 'function_call_output', call_id: 'call_5', output: 'text' },
    { role: 'developer', content: 'Go on.' },
  ] as ResponseInput;
  await openai.responses.create({ ...asked, input });
  expect(upstream.last.body.input.slice(1)).toEqual([
    { type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm hm' }], encrypted_content: SEALED },
    { type: 'custom_tool_call', call_id: 'call_1', name: 'patch', input: '{"city":"Paris"}' },
    result,
    { type: 'function_call', call_id: 'call_5', name: 'files__read', arguments: '{}' },
    { type: 'function_call_output', call_id: 'call_5', output: 'text' },
    { type: 'message', role: 'developer', content: 'Go on.' },
  ]);

  // the reasoning of one provider means nothing to another, which would reject it
  await openai.responses.create({ ...asked, model: 'elsewhere', input });
  expect(upstream.last.body.input[1]).toMatchObject({ type: 'custom_tool_call' });
  const moved = await post('/api/v1/responses', {
    model: 'claude',
    input: [{ role: 'user', content: 'go' }, output[0], { role: 'user', content: 'on' }],
  });
  expect(moved.headers.get('x-ignored-parameters')).toBe('input[].encrypted_content');
  expect(JSON.stringify(claude.last.body)).not.toContain(SEALED);
});

test("asks only reasoning models for reasoning, and holds and charges a cap below the provider's minimum as that minimum", async () => {
  await post('/api/v1/chat/completions', {
    model: 'gpt-4',
    max_tokens: 1,
    temperature: 0.5,
    messages: [{ role: 'user', content: 'hi' }],
  });
  expect(upstream.last.body).toEqual({
    model: 'gpt-4o',
    input: [{ type: 'message', role: 'user', content: 'hi' }],
    temperature: 0.5,
    max_output_tokens: 16,
    stream: false,
    store: false,
  });
  expect(gateway.ledger.last.usage.outputTokens).toBe(9);
  expect(gateway.ledger.requests.at(-1)!.amount).toBeGreaterThan(16n * 2_000n);
});

test.each([
  ['/api/v1/chat/completions', { messages: [{ role: 'user', content: 'hi' }], stop: ['x'] }],
  ['/v1/messages', { messages: [{ role: 'user', content: 'hi' }], stop_sequences: ['x'], max_tokens: 9 }],
  ['/api/v1/chat/completions', { messages: [{ role: 'user', content: 'hi' }], logprobs: true }],
])('%s: rejects what Responses cannot express and changes the answer', async (path, members) => {
  const { status, body } = await post(path, { model: 'gpt-5', ...members });
  expect({ status, message: body.error.message }).toEqual({
    status: 400,
    message: expect.stringMatching(/^(stop \(stop_sequences\)|logprobs) is not supported for this model/),
  });
  expect(upstream.requests).toHaveLength(0);
});

test('reads on for the usage of an answer whose reader left', async () => {
  upstream.reset({ tokenDelayMs: 5 });
  const settled = gateway.ledger.settlements.length;
  const stream = await openai.responses.create({ model: 'gpt-5', input: 'hi', stream: true });
  for await (const event of stream) {
    if (event.type === 'response.output_text.delta') {
      break;
    }
  }
  await eventually(async () => gateway.ledger.settlements.length > settled && upstream.last.finished);
  expect(gateway.ledger.last).toMatchObject({ status: 'cancelled', usageSource: 'provider' });
});

test.each([false, true])('goes on without members that a server rejects (stream: %s)', async (stream) => {
  const before = gateway.ledger.settlements.length;
  const response = await openai.responses
    .create({
      model: 'unverified',
      input: 'hello',
      stream,
      reasoning: { effort: 'low', summary: 'auto' },
      text: { verbosity: 'low', format: { type: 'json_object' } },
      tools: [{ type: 'function', name: 'f', strict: true, parameters: {} }],
      prompt_cache_key: 'mine',
    })
    .asResponse();
  await response.text();
  expect(upstream.requests).toHaveLength(5);
  const { reasoning, text, tools } = upstream.last.body;
  expect({ reasoning, text, tools }).toEqual({
    reasoning: { effort: 'low' },
    text: { format: { type: 'json_object' } },
    tools: [{ type: 'function', name: 'f', parameters: expect.anything() }],
  });
  const ignored = ['reasoning.summary', 'prompt_cache_key', 'text.verbosity', 'tools[].strict'];
  await eventually(async () => gateway.ledger.settlements.length > before);
  expect(gateway.ledger.last).toMatchObject({ status: 'completed', metering: { ignored } });
  expect(response.headers.get('x-ignored-parameters')).toBe(stream ? null : ignored.join(', '));
});

test('names what a Responses server rejects as the caller of chat knows it', async () => {
  const { headers } = await post('/api/v1/chat/completions', {
    model: 'unverified',
    messages: [{ role: 'user', content: 'hello' }],
    verbosity: 'low',
    tools: [{ type: 'function', function: { name: 'f', strict: true, parameters: {} } }],
  });
  expect(headers.get('x-ignored-parameters')).toBe('verbosity, tools[].function.strict');
});

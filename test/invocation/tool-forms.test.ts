import Anthropic from '@anthropic-ai/sdk';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import OpenAI from 'openai';
import { startAnthropicUpstream } from '../factories/upstream-anthropic.ts';
import { startOpenAiUpstream } from '../factories/upstream-openai.ts';
import type { UpstreamServer } from '../factories/upstream-server.ts';
import { Gateway, model } from './gateway.ts';

let openaiUpstream: UpstreamServer;
let anthropicUpstream: UpstreamServer;
let gateway: Gateway;
let openai: OpenAI;
let anthropic: Anthropic;

beforeAll(async () => {
  openaiUpstream = await startOpenAiUpstream();
  anthropicUpstream = await startAnthropicUpstream();
  gateway = await Gateway.start({
    providers: [
      { id: 'openai', protocol: 'openai', base_url: openaiUpstream.url, api_key: 'upstream-key' },
      { id: 'anthropic', protocol: 'anthropic', base_url: anthropicUpstream.url, api_key: 'upstream-key' },
    ],
    models: [
      model('to/openai', [{ provider: 'openai', model: 'gpt-4.1' }]),
      model('to/other', [{ provider: 'openai', model: 'qwen3' }]),
      model('to/anthropic', [{ provider: 'anthropic', model: 'claude' }]),
    ],
  });
  openai = new OpenAI({ apiKey: 'k', baseURL: `${gateway.url}/api/v1`, maxRetries: 0 });
  anthropic = new Anthropic({ apiKey: 'k', baseURL: gateway.url, maxRetries: 0 });
});

beforeEach(() => {
  openaiUpstream.reset();
  anthropicUpstream.reset();
});

afterAll(async () => {
  await gateway?.close();
  await openaiUpstream?.close();
  await anthropicUpstream?.close();
});

const WEATHER = { name: 'weather', description: 'the weather', parameters: { type: 'object' } };
const ASK = { role: 'user' as const, content: 'the weather in Paris?' };

describe.each(['to/openai', 'to/anthropic'])('functions, the predecessor of tools, at %s', (id) => {
  const upstream = () => (id === 'to/openai' ? openaiUpstream : anthropicUpstream);

  test('returns a call as function_call and accepts its result', async () => {
    const { choices } = await openai.chat.completions.create({
      model: id,
      messages: [ASK],
      functions: [WEATHER],
      function_call: { name: 'weather' },
    });
    const [{ message, finish_reason: finish } = {}] = choices as [(typeof choices)[0]];
    expect(finish).toBe('function_call');
    expect(message).toEqual({
      role: 'assistant',
      content: null,
      refusal: null,
      function_call: { name: 'weather', arguments: expect.any(String) },
    });
    expect(JSON.parse(message?.function_call?.arguments ?? '')).toEqual({ city: 'Paris' });
    expect(upstream().last.body).toMatchObject({
      tools: [expect.anything()],
      tool_choice: expect.anything(),
    });
    expect(upstream().last.body.functions).toBeUndefined();
    const turns = [ASK, message, { role: 'function', name: 'weather', content: 'sunny' }] as never;
    const next = await openai.chat.completions.create({
      model: id,
      messages: turns,
      functions: [WEATHER],
      function_call: 'none',
    });
    expect(next.choices[0]).toMatchObject({
      finish_reason: 'stop',
      message: { content: expect.stringContaining('fox') },
    });
    const sent = JSON.stringify(upstream().last.body.messages);
    expect(sent.match(/call_1/g)).toHaveLength(2);
    expect(sent).toContain('sunny');
  });

  test('streams a call so that the SDK can put it together', async () => {
    const answer = openai.chat.completions.stream({ model: id, messages: [ASK], functions: [WEATHER] });
    const { message, finish_reason: finish } = (await answer.finalChatCompletion()).choices[0]!;
    expect(finish).toBe('function_call');
    expect(message.function_call?.name).toBe('weather');
    expect(JSON.parse(message.function_call?.arguments ?? '')).toEqual({ city: 'Paris' });
    expect(message.tool_calls).toBeUndefined();
  });
});

test.each([
  [
    { functions: [WEATHER], tools: [{ type: 'function', function: WEATHER }] },
    'functions: cannot be combined',
  ],
  [{ messages: [ASK, { role: 'function', name: 'weather', content: 'x' }] }, 'messages[1]: the result of a'],
])('rejects what makes no sense: %j', async (body, message) => {
  const call = openai.chat.completions.create({ model: 'to/openai', messages: [ASK], ...body } as never);
  await expect(call).rejects.toMatchObject({ status: 400, message: expect.stringContaining(message) });
});

test('shortens tool names that are too long for chat, and restores them in the answer', async () => {
  const name = `mcp__${'a-very-long-server-name_'.repeat(4)}__lookup`;
  const other = `${name}_other`;
  const tools = [name, other].map((one) => ({ name: one, input_schema: { type: 'object' as const } }));
  const request = {
    model: 'to/openai',
    max_tokens: 100,
    tools,
    tool_choice: { type: 'tool' as const, name },
    messages: [
      { role: 'user' as const, content: 'go' },
      { role: 'assistant' as const, content: [{ type: 'tool_use' as const, id: 't1', name, input: {} }] },
      {
        role: 'user' as const,
        content: [
          { type: 'tool_result' as const, tool_use_id: 't1', content: 'done' },
          { type: 'text' as const, text: 'and again' },
        ],
      },
    ],
  };
  const answer = await anthropic.messages.create(request);
  expect(answer.content).toEqual([expect.objectContaining({ type: 'tool_use', name })]);
  const { body } = openaiUpstream.last;
  const sent = body.tools.map((tool: { function: { name: string } }) => tool.function.name);
  expect(new Set(sent).size).toBe(2);
  expect(sent[0]).toMatch(/^[a-zA-Z0-9_-]{64}$/);
  expect(body.tool_choice.function.name).toBe(sent[0]);
  expect(body.messages[1].tool_calls[0].function.name).toBe(sent[0]);
  const streamed = await anthropic.messages.stream(request).finalMessage();
  expect(streamed.content).toEqual([expect.objectContaining({ type: 'tool_use', name })]);
});

test('rejects more stop sequences than the model takes with an explanation, and sends all of them to other models', async () => {
  const stop_sequences = ['a', 'b', 'c', 'd', 'e'];
  const request = { max_tokens: 50, stop_sequences, messages: [{ role: 'user' as const, content: 'go' }] };
  await expect(anthropic.messages.create({ model: 'to/openai', ...request })).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining('stop_sequences: this model accepts at most 4'),
  });
  expect(openaiUpstream.requests).toHaveLength(0);
  await anthropic.messages.create({ model: 'to/other', ...request });
  expect(openaiUpstream.last.body.stop).toEqual(stop_sequences);
});

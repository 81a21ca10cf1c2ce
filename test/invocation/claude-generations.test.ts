import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import type { UpstreamServer } from '../factories/upstream-server.ts';
import { ClaudeGateway } from './claude-gateway.ts';
import { model } from './gateway.ts';

/** Every generation of Claude gets thinking, efforts, tools and history as it accepts them. The upstream rejects as the real one does. */

const MODELS = {
  haiku45: 'claude-haiku-4-5',
  opus45: 'claude-opus-4-5',
  sonnet46: 'claude-sonnet-4-6',
  opus47: 'claude-opus-4-7',
  opus5: 'claude-opus-5',
  fable51: 'claude-fable-5-1',
  opus55: 'claude-opus-5-5',
  sonnet55: 'claude-sonnet-5-5',
  haiku55: 'claude-haiku-5-5',
} as const;
type Name = keyof typeof MODELS;
const NAMES = Object.keys(MODELS) as Name[];

let servers: ClaudeGateway;
let upstream: UpstreamServer;
let chatUpstream: UpstreamServer;
let openai: OpenAI;
let anthropic: Anthropic;

beforeAll(async () => {
  servers = await ClaudeGateway.start([
    ...Object.entries(MODELS).map(([id, name]) => model(id, [{ provider: 'anthropic', model: name }])),
    model('gemini', [{ provider: 'openai', model: 'gemini-3' }]),
  ]);
  ({ upstream, chatUpstream } = servers);
  openai = new OpenAI({ apiKey: 'k', baseURL: `${servers.gateway.url}/api/v1`, maxRetries: 0 });
  anthropic = new Anthropic({ apiKey: 'k', baseURL: servers.gateway.url, maxRetries: 0 });
});

beforeEach(() => {
  upstream.reset();
  chatUpstream.reset();
});

afterAll(() => servers?.close());

const HI = [{ role: 'user' as const, content: 'hello' }];

/** Returns the ignored parameters, or null. Rejects when the upstream does. */
async function chat(name: Name, body: object): Promise<string | null> {
  const before = upstream.refusals.length;
  const params = { model: name, messages: HI, max_tokens: 4_000, ...body };
  const { response } = await openai.chat.completions
    .create({ ...(params as OpenAI.ChatCompletionCreateParams), stream: false })
    .withResponse();
  expect(upstream.refusals.slice(before)).toEqual([]);
  return response.headers.get('x-ignored-parameters');
}

async function message(name: Name | 'gemini', body: object, betas: string[] = []): Promise<string | null> {
  const before = upstream.refusals.length;
  const params = { model: name, messages: HI, max_tokens: 4_000, ...body } as Anthropic.MessageCreateParams;
  const headers = betas.length === 0 ? {} : { 'anthropic-beta': betas.join(',') };
  const { response } = await anthropic.messages
    .create({ ...params, stream: false }, { headers })
    .withResponse();
  expect(upstream.refusals.slice(before)).toEqual([]);
  return response.headers.get('x-ignored-parameters');
}

const sent = () => upstream.last.body;

test.each(NAMES)(
  'every setting of thinking, effort and tools reaches %s in a form it accepts',
  async (name) => {
    const tools = [{ name: 'f', input_schema: { type: 'object' } }];
    const thinkings = [undefined, 'enabled', 'adaptive', 'disabled', 'between_tools'].map((type) =>
      type === undefined ? undefined : { type, ...(type === 'enabled' && { budget_tokens: 2_000 }) },
    );
    const efforts = [undefined, 'low', 'medium', 'high', 'xhigh', 'max'];
    const choices = [
      undefined,
      { type: 'auto' },
      { type: 'any' },
      { type: 'tool', name: 'f' },
      { type: 'none' },
    ];
    for (const thinking of thinkings) {
      for (const effort of efforts) {
        for (const tool_choice of choices) {
          // budgets and forced tools exclude each other, which is the caller's to know
          const isCallersMistake = thinking?.type === 'enabled' && /any|tool/.test(tool_choice?.type ?? '');
          const isOldest = ['haiku45', 'opus45', 'sonnet46'].includes(name);
          if (!(isCallersMistake && isOldest)) {
            const output_config = effort && { effort };
            await message(name, { thinking, output_config, tools, tool_choice });
          }
        }
      }
    }
    const functions = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }];
    for (const reasoning_effort of [undefined, 'none', 'minimal', ...efforts.slice(1)]) {
      for (const tool_choice of [undefined, 'required', { type: 'function', function: { name: 'f' } }]) {
        await chat(name, { reasoning_effort, tools: functions, tool_choice });
      }
    }
  },
);

test('models that always think think least when asked not to, and say what was left out', async () => {
  for (const name of ['opus55', 'fable51'] as const) {
    expect(await message(name, { thinking: { type: 'disabled' } })).toBe('thinking');
    expect(sent()).toMatchObject({ output_config: { effort: 'low' } });
    expect(sent()).not.toHaveProperty('thinking');
    expect(await chat(name, { reasoning_effort: 'none' })).toBe('reasoning_effort');
    expect(sent()).toMatchObject({ output_config: { effort: 'low' } });
  }
});

test('leaves out a budget beside other kinds of thinking, which some clients send and Claude rejects', async () => {
  for (const type of ['disabled', 'adaptive']) {
    expect(await message('opus47', { thinking: { type, budget_tokens: 2_000 } })).toBeNull();
    expect(sent().thinking).toEqual({ type });
  }
});

test('turns thinking off in the words of the model', async () => {
  expect(await message('sonnet55', { thinking: { type: 'disabled' } })).toBeNull();
  expect(sent().thinking).toEqual({ type: 'between_tools' });
  expect(await message('opus5', { thinking: { type: 'between_tools' } })).toBeNull();
  expect(sent().thinking).toEqual({ type: 'disabled' });
  expect(await chat('haiku55', { reasoning_effort: 'none' })).toBeNull();
  expect(sent().thinking).toEqual({ type: 'disabled' });
  // this one does not think unless asked to
  expect(await chat('opus47', { reasoning_effort: 'none' })).toBeNull();
  expect(sent()).not.toHaveProperty('thinking');
  expect(
    await message('sonnet55', { thinking: { type: 'disabled' }, output_config: { effort: 'max' } }),
  ).toBe('thinking');
  expect(sent()).toMatchObject({ output_config: { effort: 'max' } });
  await message('gemini', { thinking: { type: 'between_tools' } });
  // it always thinks
  expect(chatUpstream.last.body).toMatchObject({ reasoning_effort: 'low' });
});

test('gives models without adaptive thinking the budget that the effort stands for', async () => {
  const adaptive = { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } };
  expect(await message('haiku45', adaptive)).toBeNull();
  expect(sent().thinking).toEqual({ type: 'enabled', budget_tokens: 1_024 });
  expect(sent()).not.toHaveProperty('output_config');
  expect(await message('opus45', { ...adaptive, output_config: { effort: 'max' } })).toBeNull();
  expect(sent()).toMatchObject({ thinking: { budget_tokens: 3_800 }, output_config: { effort: 'high' } });
  expect(await message('sonnet46', adaptive)).toBeNull();
  expect(sent()).toMatchObject(adaptive);
  expect(await message('haiku45', { output_config: { effort: 'high' } })).toBe('output_config.effort');
  expect(await message('haiku45', { ...adaptive, max_tokens: 100 })).toBe('thinking, output_config.effort');
});

test('asks for the tool call that the model does not let it force, after the last question', async () => {
  const tools = [{ name: 'f', input_schema: { type: 'object' } }];
  const forced = { type: 'tool', name: 'f', disable_parallel_tool_use: true };
  expect(await message('opus55', { tools, tool_choice: forced })).toBe('tool_choice');
  expect(sent()).toMatchObject({ tools, tool_choice: { type: 'auto', disable_parallel_tool_use: true } });
  expect(sent().tool_choice).not.toHaveProperty('name');
  expect(sent().messages).toEqual([
    { role: 'user', content: 'hello\n\nAnswer with a call of the tool "f".' },
  ]);
  const functions = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }];
  expect(
    await chat('sonnet55', { tools: functions, tool_choice: 'required', reasoning_effort: 'high' }),
  ).toBe('tool_choice');
  expect(sent()).toMatchObject({
    tool_choice: { type: 'auto' },
    thinking: { type: 'adaptive' },
    output_config: { effort: 'high' },
  });
  expect(sent().messages[0].content.at(-1).text).toBe('Answer with a call of at least one of your tools.');
  for (const name of ['opus5', 'haiku55'] as const) {
    expect(await message(name, { tools, tool_choice: forced })).toBeNull();
    expect(sent()).toMatchObject({ tool_choice: forced, messages: HI });
  }
});

test('shows chat callers the thinking that newer models return only on request, unless they hide it', async () => {
  await chat('opus47', { reasoning_effort: 'high' });
  expect(sent().thinking).toEqual({ type: 'adaptive', display: 'summarized' });
  await chat('opus47', {});
  expect(sent()).not.toHaveProperty('thinking');
  // what this one says between tool calls is part of its thinking
  await chat('opus55', {});
  expect(sent().thinking).toEqual({ type: 'adaptive', display: 'summarized' });
  await chat('opus55', { include_reasoning: false });
  expect(sent()).not.toHaveProperty('thinking');
  await chat('opus47', { reasoning: { effort: 'high', exclude: true } });
  expect(sent().thinking).toEqual({ type: 'adaptive' });
});

const MOVED = { type: 'thinking', thinking: '', signature: 'bound-elsewhere' };

function historyWith(thought: object) {
  return [
    ...HI,
    { role: 'assistant', content: [thought, { type: 'text', text: 'hi' }] },
    { role: 'user', content: 'and now?' },
  ];
}

test('lets models drop thinking that no longer fits its conversation, unless the caller decides', async () => {
  for (const name of ['opus55', 'sonnet55', 'haiku55', 'fable51'] as const) {
    await message(name, { messages: historyWith(MOVED) });
    expect(sent()).toMatchObject({
      thinking: { type: 'adaptive', block_binding: { prefix_mismatch_behavior: 'drop_block' } },
      messages: historyWith(MOVED),
    });
    expect(upstream.last.headers['anthropic-beta']).toBe('thinking-binding-controls-2026-08-01');
  }
  const reasoning_details = [
    {
      type: 'reasoning.text',
      text: '',
      signature: 'bound-elsewhere',
      format: 'anthropic-claude-v1',
      index: 0,
    },
  ];
  const answered = { role: 'assistant', content: 'hi', reasoning_details };
  await chat('opus55', { messages: [...HI, answered, ...HI] });
  expect(sent().messages[1].content[0]).toMatchObject(MOVED);
  expect(sent().thinking).toMatchObject({ block_binding: { prefix_mismatch_behavior: 'drop_block' } });
  const block_binding = { prefix_mismatch_behavior: 'error' };
  const own = { messages: historyWith(MOVED), thinking: { type: 'adaptive', block_binding } };
  await expect(message('opus55', own)).rejects.toMatchObject({ status: 400 });
  expect(sent().thinking).toEqual({ type: 'adaptive', block_binding });
  await message('opus5', { messages: historyWith(MOVED) });
  expect(sent()).not.toHaveProperty('thinking');
  expect(upstream.last.headers).not.toHaveProperty('anthropic-beta');
});

test('shows instructions for one question only until the next, also where the model does not know them', async () => {
  const reminder = (content: string) => ({ role: 'system', content, clear_at: 'next_user_message' });
  const messages = [
    ...HI,
    reminder('first'),
    { role: 'assistant', content: 'hi' },
    { role: 'user', content: 'and now?' },
    reminder('second'),
  ];
  await message('opus55', { messages }, ['mid-conversation-system-clear-at-2026-08-21']);
  expect(sent().messages).toEqual(messages);
  await message('opus55', { messages });
  expect(JSON.stringify(sent().messages)).not.toMatch(/first|clear_at/);
  expect(sent().messages.at(-1)).toEqual({ role: 'system', content: 'second' });
  await message('haiku45', { messages });
  expect(JSON.stringify(sent().messages)).not.toMatch(/first|clear_at/);
  expect(JSON.stringify(sent().messages)).toContain('second');
  await message('gemini', { messages });
  expect(JSON.stringify(chatUpstream.last.body.messages)).not.toMatch(/first|clear_at/);
  expect(chatUpstream.last.body.messages.at(-1)).toEqual({ role: 'system', content: 'second' });
});

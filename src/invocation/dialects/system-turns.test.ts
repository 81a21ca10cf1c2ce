import { expect, test } from '@jest/globals';
import { atOnce } from '../../lib/steps.ts';
import type { JsonObject } from '../../providers/json.ts';
import type { ProviderDialect, RequestDialect } from '../../providers/provider.types.ts';
import type { ModelRoute } from '../invocation.types.ts';
import { modelRules } from './model-rules.ts';
import { type RequestTranslation, translateRequest } from './translate-request.ts';
import { untranslatedMembers } from './untranslated-members.ts';

const CHAT = { dialect: 'chat', requestDialect: 'chat' } as const;

function translation(
  from: RequestDialect,
  route: Partial<ModelRoute> & { readonly model: string },
  to: ProviderDialect = 'chat',
  native?: JsonObject,
): RequestTranslation {
  const rules = modelRules({ provider: 'p', ...route }, { ...CHAT, requestDialect: to });
  return { from, to, native, maxOutputTokens: 4_000, reasoning: false, rules, betas: [] };
}

const sent = (body: JsonObject, to: RequestTranslation) => atOnce(translateRequest(body, to));

const reminder = (text: string) => `<system-reminder>\n${text}\n</system-reminder>`;
const CALL = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } };

/** As Codex and other agents send instructions: several at first, more later. */
const MESSAGES = [
  { role: 'system', content: 'You are an agent.' },
  { role: 'developer', content: 'The folder is /work.' },
  { role: 'user', content: 'Hi' },
  { role: 'assistant', content: null, tool_calls: [CALL] },
  { role: 'developer', content: 'Be brief.' },
  { role: 'tool', tool_call_id: 'call_1', content: 'done' },
  { role: 'user', content: 'Go on.' },
];
const FIRST = [
  { role: 'system', content: 'You are an agent.\n\nThe folder is /work.' },
  { role: 'user', content: 'Hi' },
  { role: 'assistant', content: null, tool_calls: [CALL] },
  { role: 'tool', tool_call_id: 'call_1', content: 'done' },
  { role: 'user', content: reminder('Be brief.') },
  { role: 'user', content: 'Go on.' },
];

test.each([
  'Qwen/Qwen3.6-27B-FP8',
  'qwen3.5-plus',
  'accounts/fireworks/models/qwen3p8-235b',
  'qwen4-max',
  'MiniMaxAI/MiniMax-M2.5',
  'MiniMax-M2.7',
  'minimax-m3',
  'swiss-ai/Apertus-70B-Instruct-2509',
])('%s gets instructions only in its first message', (model) => {
  const to = translation('chat', { model });
  expect(sent({ messages: MESSAGES }, to)).toEqual({ messages: FIRST });
  expect(atOnce(untranslatedMembers({ messages: MESSAGES }, to))).toEqual([]);
});

test.each(['qwen3-8b', 'qwen-72b-chat', 'qwen2.5-coder', 'deepseek-chat', 'gpt-4.1'])(
  '%s gets instructions where they were said',
  (model) => {
    expect(sent({ messages: MESSAGES }, translation('chat', { model }))).toEqual({ messages: MESSAGES });
  },
);

test('the catalog knows better than the name', () => {
  const first = translation('chat', { model: 'mine', systemMessages: 'first' });
  expect(sent({ messages: MESSAGES }, first)).toEqual({ messages: FIRST });
  const anywhere = translation('chat', { model: 'qwen3.6-27b', systemMessages: 'anywhere' });
  expect(sent({ messages: MESSAGES }, anywhere)).toEqual({ messages: MESSAGES });
});

/** What Gemma before 4 is told: instructions are the user's, and turns alternate. */
const SAID = [
  { role: 'user', content: 'You are an agent.\n\nThe folder is /work.\n\nHi' },
  { role: 'assistant', content: null, tool_calls: [CALL] },
  { role: 'tool', tool_call_id: 'call_1', content: 'done' },
  { role: 'assistant', content: 'OK.' },
  { role: 'user', content: `${reminder('Be brief.')}\n\nGo on.` },
];

test.each([
  'gemma-2-9b-it',
  'gemma2-9b-it',
  'models/gemma-3-27b-it',
  'gemma3:4b',
  'gemma-7b-it',
  'medgemma-4b-it',
])('%s gets instructions from the user', (model) => {
  expect(sent({ messages: MESSAGES }, translation('chat', { model }))).toEqual({ messages: SAID });
});

test.each(['CohereLabs/c4ai-command-a-03-2025', 'command-r:35b', 'aya-expanse:8b', 'llama2:7b'])(
  '%s gets turns that alternate',
  (model) => {
    expect(sent({ messages: MESSAGES }, translation('chat', { model })).messages).toEqual([
      ...FIRST.slice(0, 4),
      { role: 'assistant', content: 'OK.' },
      { role: 'user', content: `${reminder('Be brief.')}\n\nGo on.` },
    ]);
  },
);

test.each(['google/gemma-4-31b-it', 'gemma4:31b'])('%s gets instructions where they were said', (model) => {
  expect(sent({ messages: MESSAGES }, translation('chat', { model }))).toEqual({ messages: MESSAGES });
});

test('the catalog says all of it, too', () => {
  const route = { model: 'mine', systemMessages: 'none', turns: 'alternating' } as const;
  expect(sent({ messages: MESSAGES }, translation('chat', route))).toEqual({ messages: SAID });
  const free = { model: 'gemma-3-27b-it', systemMessages: 'anywhere', turns: 'any' } as const;
  expect(sent({ messages: MESSAGES }, translation('chat', free))).toEqual({ messages: MESSAGES });
  const two = [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: null, tool_calls: [CALL, { ...CALL, id: 'call_2' }] },
    { role: 'tool', tool_call_id: 'call_1', content: 'done' },
    { role: 'tool', tool_call_id: 'call_2', content: 'done' },
  ];
  const calls = (given: Partial<ModelRoute> & { readonly model: string }) =>
    sent({ messages: two }, translation('chat', given)).messages;
  expect(calls({ model: 'mine', toolCalls: 'single' })).toHaveLength(5);
  expect(calls({ model: 'accounts/fireworks/models/llama-v3p3-70b-instruct' })).toHaveLength(5);
  expect(calls({ model: 'llama3.1:8b', toolCalls: 'any' })).toBe(two);
});

test('instructions alone are what the user asks, and a conversation without a question gets one', () => {
  const model = 'Qwen/Qwen3.6-27B';
  const [agent, , , call, , result] = MESSAGES;
  expect(sent({ messages: MESSAGES.slice(0, 2) }, translation('chat', { model })).messages).toEqual([
    { role: 'user', content: 'You are an agent.\n\nThe folder is /work.' },
  ]);
  expect(sent({ messages: [agent, call, result] }, translation('chat', { model })).messages).toEqual([
    agent,
    { role: 'user', content: 'Hello.' },
    call,
    result,
  ]);
});

test('parts of instructions stay parts, and requests without further instructions stay as they are', () => {
  const model = 'qwen3.6-27b';
  const parts = [
    { role: 'system', content: [{ type: 'text', text: 'One' }] },
    { role: 'system', content: 'Two' },
    { role: 'user', content: 'Hi' },
    { role: 'system', content: [{ type: 'text', text: 'Three' }] },
  ];
  expect(sent({ messages: parts }, translation('chat', { model })).messages).toEqual([
    {
      role: 'system',
      content: [
        { type: 'text', text: 'One' },
        { type: 'text', text: 'Two' },
      ],
    },
    { role: 'user', content: 'Hi' },
    { role: 'user', content: [{ type: 'text', text: reminder('Three') }] },
  ]);
  const plain = { messages: [MESSAGES[0], MESSAGES[2]] } as JsonObject;
  expect(sent(plain, translation('chat', { model }))).toBe(plain);
});

test('system turns of messages follow the same rule', () => {
  const body = {
    system: 'You are an agent.',
    messages: [
      { role: 'user', content: 'Hi' },
      { role: 'system', content: 'Be brief.' },
    ],
  };
  const chat = translation('messages', { model: 'qwen3.6-27b' });
  expect(sent(body, chat).messages).toEqual([
    { role: 'system', content: 'You are an agent.' },
    { role: 'user', content: 'Hi' },
    { role: 'user', content: reminder('Be brief.') },
  ]);
});

test('a Responses server of such a model gets them as instructions', () => {
  const text = (words: string) => [{ type: 'input_text', text: words }];
  const native = {
    instructions: 'You are an agent.',
    input: [
      { type: 'message', role: 'developer', content: text('The folder is /work.') },
      { type: 'message', role: 'user', content: 'Hi' },
      { type: 'message', role: 'developer', content: text('Be brief.') },
    ],
  };
  const to = translation('chat', { model: 'qwen3.6-27b' }, 'responses', native);
  expect(sent({ messages: MESSAGES }, to)).toEqual({
    instructions: 'You are an agent.\n\nThe folder is /work.',
    input: [
      { type: 'message', role: 'user', content: 'Hi' },
      { type: 'message', role: 'user', content: text(reminder('Be brief.')) },
    ],
  });
  const spoken = translation('chat', { model: 'mine', systemMessages: 'none' }, 'responses', native);
  expect(sent({ messages: MESSAGES }, spoken)).toEqual({
    input: [
      { role: 'user', content: 'You are an agent.\n\nThe folder is /work.' },
      { type: 'message', role: 'user', content: 'Hi' },
      { type: 'message', role: 'user', content: text(reminder('Be brief.')) },
    ],
  });
  const short = { ...spoken, native: { instructions: 'You are an agent.', input: 'Hi' } };
  expect(sent({ messages: MESSAGES }, short)).toEqual({
    input: [
      { role: 'user', content: 'You are an agent.' },
      { role: 'user', content: 'Hi' },
    ],
  });
  const { native: _, ...chat } = to;
  expect(sent({ messages: MESSAGES }, chat).input).toMatchObject([
    { role: 'system' },
    { role: 'user' },
    { type: 'function_call' },
    { type: 'function_call_output' },
    { role: 'user' },
    { role: 'user' },
  ]);
});

test("Claude Code's billing header reaches Claude only", () => {
  const header = 'x-anthropic-billing-header: cc_version=2.1.40; cc_entrypoint=cli; cch=a1b2c;';
  const messages = [{ role: 'user', content: 'Hi' }];
  const system = [
    { type: 'text', text: header },
    { type: 'text', text: `${header}\nYou are Claude Code.` },
  ];
  const chat = translation('messages', { model: 'deepseek-v4-pro' });
  expect(sent({ system, messages }, chat).messages).toEqual([
    { role: 'system', content: 'You are Claude Code.' },
    ...messages,
  ]);
  expect(sent({ system: `${header}\nAgent.`, messages }, chat).messages).toEqual([
    { role: 'system', content: 'Agent.' },
    ...messages,
  ]);
  expect(sent({ system: system.slice(0, 1), messages }, chat).messages).toEqual(messages);
  const native = (model: string) => ({
    ...translation('messages', { model }, 'messages'),
    rules: modelRules({ provider: 'p', model }, { dialect: 'messages', requestDialect: 'messages' }),
  });
  expect(sent({ system, messages }, native('glm-5.2')).system).toEqual([
    { type: 'text', text: 'You are Claude Code.' },
  ]);
  expect(sent({ system, messages }, native('anthropic.claude-opus-4-8-v1:0')).system).toEqual(system);
});

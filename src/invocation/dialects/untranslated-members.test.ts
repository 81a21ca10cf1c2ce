import { atOnce } from '../../lib/steps.ts';
import type { JsonObject } from '../../providers/json.ts';
import type { Dialect } from '../../providers/provider.types.ts';
import { PLAIN_RULES } from './model-rules.ts';
import { type RequestTranslation, translateRequest } from './translate-request.ts';
import { untranslatedMembers } from './untranslated-members.ts';

/** A word that appears nowhere else. */
const MARK = 'quokka';

function translation(from: Dialect, to: Dialect): RequestTranslation {
  return { from, to, maxOutputTokens: 4_000, reasoning: true, rules: PLAIN_RULES, betas: [] };
}

const USER = { role: 'user', content: 'hi' };
const CALL = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } };
const RESULT = { role: 'tool', tool_call_id: 'call_1', content: 'done' };
const PICTURE = 'data:image/png;base64,AAAA';
const afterCall = (call: object) => ({
  messages: [USER, { role: 'assistant', content: null, tool_calls: [call] }, RESULT],
});

test.each<[string, JsonObject]>([
  ['messages[].name', { messages: [{ ...USER, name: MARK }] }],
  ['messages[].reasoning', { messages: [USER, { role: 'assistant', content: 'a', reasoning: MARK }] }],
  [
    'messages[].reasoning_content',
    { messages: [USER, { role: 'assistant', content: 'a', reasoning_content: MARK }] },
  ],
  [
    'messages[].reasoning_details',
    {
      messages: [
        USER,
        { role: 'assistant', content: 'a', reasoning_details: [{ type: 'reasoning.text', text: MARK }] },
      ],
    },
  ],
  ['messages[].tool_calls[].extra_content', afterCall({ ...CALL, extra_content: { google: MARK } })],
  ['messages[].tool_calls[].thought_signature', afterCall({ ...CALL, thought_signature: MARK })],
  [
    'messages[].content[].image_url.detail',
    {
      messages: [
        { role: 'user', content: [{ type: 'image_url', image_url: { url: PICTURE, detail: MARK } }] },
      ],
    },
  ],
  ['seed', { messages: [USER], seed: 7 }],
  ['reasoning_effort', { messages: [USER], reasoning_effort: MARK }],
])('chat to messages leaves out %s and reports it', (path, body) => {
  const to = translation('chat', 'messages');
  expect(JSON.stringify(atOnce(translateRequest(body, to)))).not.toContain(MARK);
  expect(atOnce(untranslatedMembers(body, to))).toEqual([path]);
});

test.each<[string, JsonObject]>([
  ['cache_control', { messages: [USER], cache_control: { type: MARK } }],
  ['top_k', { messages: [USER], top_k: 7 }],
  [
    'system[].cache_control',
    { messages: [USER], system: [{ type: 'text', text: 'a', cache_control: { type: MARK } }] },
  ],
  [
    'messages[].content[].cache_control',
    { messages: [{ role: 'user', content: [{ type: 'text', text: 'a', cache_control: { type: MARK } }] }] },
  ],
  [
    'messages[].content[].thinking',
    {
      messages: [
        USER,
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: MARK },
            { type: 'text', text: 'a' },
          ],
        },
        USER,
      ],
    },
  ],
  [
    'messages[].content[].data',
    {
      messages: [
        USER,
        {
          role: 'assistant',
          content: [
            { type: 'redacted_thinking', data: MARK },
            { type: 'text', text: 'a' },
          ],
        },
        USER,
      ],
    },
  ],
  ['tools[].cache_control', { messages: [USER], tools: [{ name: 'f', cache_control: { type: MARK } }] }],
  ['tools[].input_examples', { messages: [USER], tools: [{ name: 'f', input_examples: [{ a: MARK }] }] }],
  ['tools[].defer_loading', { messages: [USER], tools: [{ name: 'f', defer_loading: true }] }],
])('messages to chat leaves out %s and reports it', (path, body) => {
  const to = translation('messages', 'chat');
  expect(JSON.stringify(atOnce(translateRequest(body, to)))).not.toContain(MARK);
  expect(atOnce(untranslatedMembers(body, to))).toEqual([path]);
});

test('reports thinking that is left out because the history cannot continue from it', () => {
  const call = { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} };
  const body = {
    messages: [
      USER,
      { role: 'assistant', content: [call] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'done' }] },
    ],
    thinking: { type: 'enabled', budget_tokens: 2_000 },
  };
  const to = translation('messages', 'messages');
  expect(atOnce(translateRequest(body, to)).thinking).toBeUndefined();
  expect(atOnce(untranslatedMembers(body, to))).toEqual(['thinking']);
});

test.each([{ reasoning_effort: 'high' }, { reasoning: { max_tokens: 2_000 } }])(
  'reports %j where the cap leaves no room to think',
  (asked) => {
    const to = { ...translation('chat', 'messages'), maxOutputTokens: 1_000 };
    const body = { messages: [USER], ...asked };
    expect(atOnce(translateRequest(body, to)).thinking).toBeUndefined();
    expect(atOnce(untranslatedMembers(body, to))).toEqual(Object.keys(asked));
    expect(atOnce(untranslatedMembers({ messages: [USER], reasoning_effort: 'none' }, to))).toEqual([]);
  },
);

test('reports members of tools that are left out without their beta', () => {
  const body = { messages: [USER], tools: [{ name: 'f', input_schema: {}, input_examples: [{ a: MARK }] }] };
  const locked = translation('messages', 'messages');
  expect(JSON.stringify(atOnce(translateRequest(body, locked)))).not.toContain(MARK);
  expect(atOnce(untranslatedMembers(body, locked))).toEqual(['tools[].input_examples']);
  const opened = { ...locked, betas: ['advanced-tool-use-2025-11-20'] };
  expect(JSON.stringify(atOnce(translateRequest(body, opened)))).toContain(MARK);
  expect(atOnce(untranslatedMembers(body, opened))).toEqual([]);
});

test('reports nothing for a request that is translated completely', () => {
  const parts = [
    { type: 'text', text: 'a' },
    { type: 'image_url', image_url: { url: PICTURE } },
  ];
  const chat = { messages: [{ role: 'user', content: parts }], temperature: 0.5, stop: ['b'], user: 'u' };
  expect(atOnce(untranslatedMembers(chat, translation('chat', 'messages')))).toEqual([]);
  const messages = { messages: [USER], system: 'a', temperature: 0.5, metadata: { user_id: 'u' } };
  expect(atOnce(untranslatedMembers(messages, translation('messages', 'chat')))).toEqual([]);
});

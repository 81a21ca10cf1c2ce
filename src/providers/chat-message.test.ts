import { readChatContent } from './chat-message.ts';

const details = [{ type: 'reasoning.text', text: 'first dredge', index: 0 }];

test.each<[string, object, string]>([
  ['text', { reasoning_details: details }, 'first dredge'],
  ['a summary', { reasoning_details: [{ type: 'reasoning.summary', summary: 'dredge' }] }, 'dredge'],
  ['nothing that can be read', { reasoning_details: [{ type: 'reasoning.encrypted', data: 'xyz' }] }, ''],
  ['the same again', { reasoning: 'first dredge', reasoning_details: details }, 'first dredge'],
])('reasoning details count by what they say: %s', (_what, message, reasoning) => {
  const content = readChatContent({ ...message });
  expect(content.reasoning).toBe(reasoning);
  expect(content.members.reasoning_details).toBeDefined();
});

test.each<[string, unknown, string]>([
  ['a JSON answer that was parsed', { city: 'Oslo', days: [1, 2] }, '{"city":"Oslo","days":[1,2]}'],
  ['a number', 42, '42'],
  ['zero', 0, '0'],
  ['a boolean', false, 'false'],
  ['one part', { type: 'text', text: 'Oslo' }, 'Oslo'],
  ['an empty object', {}, ''],
  ['null', null, ''],
])('content that is %s keeps its text', (_what, content, text) => {
  expect(readChatContent({ content }).text).toBe(text);
});

test('thinking blocks of LiteLLM are reasoning details', () => {
  const thinking_blocks = [
    { type: 'thinking', thinking: 'first', signature: 'sig' },
    { type: 'redacted_thinking', data: 'EmwK' },
  ];
  const { members, reasoning } = readChatContent({ content: '', thinking_blocks });
  const format = 'anthropic-claude-v1';
  expect(members.reasoning_details).toEqual([
    { type: 'reasoning.text', text: 'first', signature: 'sig', format },
    { type: 'reasoning.encrypted', data: 'EmwK', format },
  ]);
  expect(reasoning).toBe('first');
});

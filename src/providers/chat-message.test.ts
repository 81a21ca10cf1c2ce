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

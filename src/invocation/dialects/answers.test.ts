import { chatAnswerToMessages } from './chat-answer-to-messages.ts';
import { messagesAnswerToChat } from './messages-answer-to-chat.ts';

const SHOWN = { thinking: true, toolNames: new Map<string, string>() };
const HIDDEN = { ...SHOWN, thinking: false };

test('chat → messages: reasoning, text and calls become blocks', () => {
  const message = {
    role: 'assistant',
    content: 'Looking.',
    reasoning: 'hm',
    tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{"a":[1]}' } }],
  };
  expect(
    chatAnswerToMessages({ choices: [{ index: 0, message, finish_reason: 'tool_calls' }] }, SHOWN),
  ).toEqual({
    type: 'message',
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: 'hm', signature: '' },
      { type: 'text', text: 'Looking.' },
      { type: 'tool_use', id: 'c', name: 'f', input: { a: [1] } },
    ],
    stop_reason: 'tool_use',
    stop_sequence: null,
  });
});

test.each<[object, string, string | null]>([
  [{ finish_reason: 'stop' }, 'end_turn', null],
  [{ finish_reason: 'stop', stop_reason: 'END' }, 'stop_sequence', 'END'],
  [{ finish_reason: 'length' }, 'max_tokens', null],
  [{ finish_reason: 'content_filter' }, 'refusal', null],
])('chat → messages: %j gets the stop reason %s', (choice, stop_reason, stop_sequence) => {
  const answer = chatAnswerToMessages({ choices: [{ message: { content: 'x' }, ...choice }] }, SHOWN);
  expect(answer).toMatchObject({ stop_reason, stop_sequence });
});

test('chat → messages: thinking that was not asked for is left out', () => {
  const message = { content: 'x', reasoning: 'hm' };
  expect(chatAnswerToMessages({ choices: [{ message, finish_reason: 'stop' }] }, HIDDEN).content).toEqual([
    { type: 'text', text: 'x' },
  ]);
});

test('chat → messages: arguments that are not JSON are never replaced by empty ones', () => {
  const message = { tool_calls: [{ id: 'c', function: { name: 'f', arguments: '{"a":' } }] };
  const answer = (finish_reason: string) =>
    chatAnswerToMessages({ choices: [{ message, finish_reason }] }, HIDDEN);
  expect(() => answer('tool_calls')).toThrow('malformed');
  expect(answer('length')).toMatchObject({ content: [], stop_reason: 'max_tokens' });
});

test('messages → chat: blocks become one message, including signatures', () => {
  const content = [
    { type: 'thinking', thinking: 'hm', signature: 's' },
    { type: 'redacted_thinking', data: 'r' },
    { type: 'text', text: 'a' },
    { type: 'text', text: 'b' },
    { type: 'tool_use', id: 't', name: 'f', input: { a: 1 } },
  ];
  const format = 'anthropic-claude-v1';
  expect(messagesAnswerToChat({ content, stop_reason: 'tool_use' })).toEqual({
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: 'ab',
          refusal: null,
          reasoning_content: 'hm',
          reasoning: 'hm',
          reasoning_details: [
            { type: 'reasoning.text', text: 'hm', signature: 's', format, index: 0 },
            { type: 'reasoning.encrypted', data: 'r', format, index: 1 },
          ],
          tool_calls: [{ id: 't', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }],
        },
        logprobs: null,
        finish_reason: 'tool_calls',
      },
    ],
  });
});

test.each([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['pause_turn', 'length'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['refusal', 'content_filter'],
])('messages → chat: %s becomes the finish reason %s', (stop_reason, finish) => {
  const { choices } = messagesAnswerToChat({ content: [], stop_reason }) as {
    choices: [{ finish_reason: string }];
  };
  expect(choices[0].finish_reason).toBe(finish);
});

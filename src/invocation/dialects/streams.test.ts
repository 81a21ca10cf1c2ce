import { createChatToMessages } from './chat-stream-to-messages.ts';
import { createMessagesToChat } from './messages-stream-to-chat.ts';

const chunk = (delta: object, finish: string | null = null, choice: object = {}) => ({
  choices: [{ index: 0, delta, finish_reason: finish, ...choice }],
});
const call = (index: number, args: string, start?: { id: string; name: string }) => ({
  tool_calls: [
    {
      index,
      ...(start && { id: start.id, type: 'function' }),
      function: { ...(start && { name: start.name }), arguments: args },
    },
  ],
});

function toMessages(chunks: readonly object[]): object[] {
  const translate = createChatToMessages({ thinking: true, toolNames: new Map() });
  return chunks.flatMap((one) => translate({ ...one }));
}

const stop = (index: number) => ({ type: 'content_block_stop', index });
const delta = (index: number, body: object) => ({ type: 'content_block_delta', index, delta: body });
const open = (index: number, content_block: object) => ({
  type: 'content_block_start',
  index,
  content_block,
});
const end = (stop_reason: string, stop_sequence: string | null = null) => ({
  type: 'message_delta',
  delta: { stop_reason, stop_sequence },
});

type StreamEvent = {
  type: string;
  index: number;
  content_block?: { type: string };
  delta?: { text?: string; thinking?: string; partial_json?: string };
};

/** Returns the input of each call, as clients put it together. Throws for a delta of a block that is not open. */
function inputsOf(events: readonly object[]): string[] {
  const inputs = new Map<number, string>();
  let opened: StreamEvent | undefined;
  for (const event of events as StreamEvent[]) {
    if (event.type === 'content_block_start') {
      expect(opened).toBeUndefined();
      opened = event;
      if (event.content_block?.type === 'tool_use') {
        inputs.set(event.index, '');
      }
    } else if (event.type === 'content_block_delta') {
      expect(event.index).toBe(opened?.index);
      if (event.delta?.partial_json !== undefined) {
        inputs.set(event.index, inputs.get(event.index)! + event.delta.partial_json);
      }
    } else if (event.type === 'content_block_stop') {
      expect(event.index).toBe(opened?.index);
      opened = undefined;
    }
  }
  return [...inputs.values()];
}

function saidIn(events: readonly object[]): string {
  return (events as StreamEvent[]).map(({ delta: one }) => one?.text ?? one?.thinking ?? '').join('');
}

function indexesOf(events: readonly object[]): number[] {
  return (events as StreamEvent[]).filter(({ content_block }) => content_block).map(({ index }) => index);
}

test('chat → messages: reasoning, then text', () => {
  const chunks = [
    chunk({ reasoning_content: 'hm', reasoning: 'hm' }),
    chunk({ content: 'a' }),
    chunk({ content: 'b' }),
    chunk({}, 'stop', { stop_reason: 'END' }),
    { choices: [] },
  ];
  expect(toMessages(chunks)).toEqual([
    open(0, { type: 'thinking', thinking: '', signature: '' }),
    delta(0, { type: 'thinking_delta', thinking: 'hm' }),
    stop(0),
    open(1, { type: 'text', text: '' }),
    delta(1, { type: 'text_delta', text: 'a' }),
    delta(1, { type: 'text_delta', text: 'b' }),
    stop(1),
    end('stop_sequence', 'END'),
  ]);
});

test('chat → messages: interleaved calls are sent one after the other, complete', () => {
  const chunks = [
    chunk({ content: 'Looking' }),
    chunk(call(0, '', { id: 'x', name: 'f' })),
    chunk(call(1, '{"b"', { id: 'y', name: 'g' })),
    chunk(call(0, '{"a":')),
    chunk(call(1, ':2}')),
    chunk(call(0, '1}')),
    chunk({}, 'tool_calls'),
  ];
  expect(toMessages(chunks)).toEqual([
    open(0, { type: 'text', text: '' }),
    delta(0, { type: 'text_delta', text: 'Looking' }),
    stop(0),
    open(1, { type: 'tool_use', id: 'x', name: 'f', input: {} }),
    delta(1, { type: 'input_json_delta', partial_json: '{"a":' }),
    delta(1, { type: 'input_json_delta', partial_json: '1}' }),
    stop(1),
    open(2, { type: 'tool_use', id: 'y', name: 'g', input: {} }),
    delta(2, { type: 'input_json_delta', partial_json: '{"b":2}' }),
    stop(2),
    end('tool_use'),
  ]);
});

test.each<[string, (piece: string) => object]>([
  ['text', (content) => ({ content })],
  ['reasoning', (reasoning) => ({ reasoning_content: reasoning, reasoning })],
  ['a refusal', (refusal) => ({ refusal })],
])('chat → messages: %s amid the arguments of a call waits until they are whole', (_kind, said) => {
  const events = toMessages([
    chunk(call(0, '{"city":', { id: 'x', name: 'f' })),
    chunk(said('Let me ')),
    chunk({ ...said('look'), ...call(0, '"}\\"Os') }),
    chunk(call(0, 'lo"}')),
    chunk(said('!')),
    chunk({}, 'tool_calls'),
  ]);
  expect(inputsOf(events)).toEqual(['{"city":"}\\"Oslo"}']);
  expect(saidIn(events)).toBe('Let me look!');
  expect(indexesOf(events)).toEqual([0, 1]);
});

test('chat → messages: text between calls, and within the second one', () => {
  const events = toMessages([
    chunk(call(0, '{"a":1}', { id: 'x', name: 'f' })),
    chunk({ content: '\n' }),
    chunk(call(1, '{"b":', { id: 'y', name: 'g' })),
    chunk({ content: '\n' }),
    chunk(call(1, '[{}]}')),
    // spaces after the end of a call that is closed
    chunk(call(0, ' ')),
    chunk({}, 'tool_calls'),
  ]);
  expect(inputsOf(events)).toEqual(['{"a":1}', '{"b":[{}]}']);
  expect(saidIn(events)).toBe('\n\n');
  expect(indexesOf(events)).toEqual([0, 1, 2, 3]);
});

test('chat → messages: text within the second of two interleaved calls', () => {
  const events = toMessages([
    chunk(call(0, '{"a":1}', { id: 'x', name: 'f' })),
    chunk(call(1, '{"b":', { id: 'y', name: 'g' })),
    chunk({ content: '\n' }),
    chunk(call(1, '2}')),
    chunk({}, 'tool_calls'),
  ]);
  expect(inputsOf(events)).toEqual(['{"a":1}', '{"b":2}']);
  expect(saidIn(events)).toBe('\n');
});

test('chat → messages: text within a call that the cap cut off', () => {
  const events = toMessages([
    chunk(call(0, '{"a":', { id: 'x', name: 'f' })),
    chunk({ content: 'so' }),
    chunk({}, 'length'),
  ]);
  expect(inputsOf(events)).toEqual(['{"a":']);
  expect(saidIn(events)).toBe('so');
  expect(events.at(-1)).toEqual(end('max_tokens'));
});

test.each(['tool_calls', 'length'])('chat → messages: arguments after the end of a call, %s', (finish) => {
  const chunks = [
    chunk(call(0, '{}', { id: 'x', name: 'f' })),
    chunk({ content: 'ok' }),
    chunk(call(0, '{"a":1}')),
    chunk({}, finish),
  ];
  expect(() => toMessages(chunks)).toThrow('malformed');
});

test('chat → messages: a refusal becomes text and a stop reason', () => {
  const events = toMessages([chunk({ refusal: 'No.' }), chunk({}, 'stop')]);
  expect(events).toContainEqual(delta(0, { type: 'text_delta', text: 'No.' }));
  expect(events.at(-1)).toEqual(end('refusal'));
});

test('messages → chat: every kind of event', () => {
  const format = 'anthropic-claude-v1';
  const events = [
    { type: 'message_start', message: {} },
    open(0, { type: 'thinking', thinking: '', signature: '' }),
    delta(0, { type: 'thinking_delta', thinking: 'hm' }),
    delta(0, { type: 'signature_delta', signature: 's' }),
    stop(0),
    open(1, { type: 'redacted_thinking', data: 'r' }),
    stop(1),
    open(2, { type: 'text', text: '' }),
    delta(2, { type: 'text_delta', text: 'a' }),
    stop(2),
    open(3, { type: 'tool_use', id: 'x', name: 'f', input: {} }),
    delta(3, { type: 'input_json_delta', partial_json: '{}' }),
    stop(3),
    open(4, { type: 'tool_use', id: 'y', name: 'g', input: { whole: true } }),
    stop(4),
    open(5, { type: 'server_tool_use', id: 'z', name: 'web_search', input: {} }),
    delta(5, { type: 'input_json_delta', partial_json: '{"query":"x"}' }),
    stop(5),
    open(6, { type: 'tool_use', id: 'w', name: 'now', input: {} }),
    stop(6),
    end('tool_use'),
    { type: 'message_stop' },
  ];
  const translate = createMessagesToChat();
  const deltas = events
    .flatMap((event) => translate(event))
    .map((one) => (one.choices as [{ delta: object }])[0]);
  expect(deltas).toEqual(
    [
      {
        reasoning_content: 'hm',
        reasoning: 'hm',
        reasoning_details: [{ type: 'reasoning.text', text: 'hm', signature: '', format, index: 0 }],
      },
      { reasoning_details: [{ type: 'reasoning.text', text: '', signature: 's', format, index: 0 }] },
      { reasoning_details: [{ type: 'reasoning.encrypted', data: 'r', format, index: 1 }] },
      { content: 'a' },
      { tool_calls: [{ index: 0, id: 'x', type: 'function', function: { name: 'f', arguments: '' } }] },
      { tool_calls: [{ index: 0, function: { arguments: '{}' } }] },
      { tool_calls: [{ index: 1, id: 'y', type: 'function', function: { name: 'g', arguments: '' } }] },
      { tool_calls: [{ index: 1, function: { arguments: '{"whole":true}' } }] },
      { tool_calls: [{ index: 2, id: 'w', type: 'function', function: { name: 'now', arguments: '' } }] },
      { tool_calls: [{ index: 2, function: { arguments: '{}' } }] },
    ].map((body) => ({ index: 0, delta: body, finish_reason: null })),
  );
});

test('chat → messages: signed, redacted and foreign reasoning keep their place', () => {
  const format = 'anthropic-claude-v1';
  const detail = (body: object, index = 0) => ({ reasoning_details: [{ format, index, ...body }] });
  const gemini = { type: 'reasoning.encrypted', data: 'c2ln', id: 'x', format: 'google-gemini-v1' };
  const events = toMessages([
    chunk({ reasoning: 'h', ...detail({ type: 'reasoning.text', text: 'h' }) }),
    chunk({ reasoning: 'm', ...detail({ type: 'reasoning.text', text: 'm' }) }),
    chunk(detail({ type: 'reasoning.text', signature: 's1' })),
    chunk({ reasoning: '!', ...detail({ type: 'reasoning.text', text: '!', signature: 's2' }, 1) }),
    chunk(detail({ type: 'reasoning.encrypted', data: 'EmwK' }, 2)),
    chunk(detail({ type: 'reasoning.text', text: '', signature: 's3' }, 3)),
    chunk({ content: 'a' }),
    chunk(call(0, '{"a"', { id: 'x', name: 'f' })),
    chunk({ reasoning_details: [{ ...gemini, index: 4 }] }),
    chunk(call(0, ':1}')),
    chunk({}, 'tool_calls'),
  ]);
  const thinking = { type: 'thinking', thinking: '', signature: '' };
  expect(events).toEqual([
    open(0, thinking),
    delta(0, { type: 'thinking_delta', thinking: 'h' }),
    delta(0, { type: 'thinking_delta', thinking: 'm' }),
    delta(0, { type: 'signature_delta', signature: 's1' }),
    stop(0),
    open(1, thinking),
    delta(1, { type: 'thinking_delta', thinking: '!' }),
    delta(1, { type: 'signature_delta', signature: 's2' }),
    stop(1),
    open(2, { type: 'redacted_thinking', data: 'EmwK' }),
    stop(2),
    open(3, thinking),
    delta(3, { type: 'signature_delta', signature: 's3' }),
    stop(3),
    open(4, { type: 'text', text: '' }),
    delta(4, { type: 'text_delta', text: 'a' }),
    stop(4),
    open(5, { type: 'tool_use', id: 'x', name: 'f', input: {} }),
    delta(5, { type: 'input_json_delta', partial_json: '{"a"' }),
    delta(5, { type: 'input_json_delta', partial_json: ':1}' }),
    stop(5),
    open(6, { type: 'redacted_thinking', data: `tgd1.${JSON.stringify(gemini)}` }),
    stop(6),
    end('tool_use'),
  ]);
});

function toChat(events: readonly object[]): object[] {
  const translate = createMessagesToChat();
  return events
    .flatMap((event) => translate({ ...event }))
    .map((one) => (one.choices as [{ delta: object }])[0].delta);
}

test('messages → chat: an input that comes with the start of its block and in pieces counts once', () => {
  const deltas = toChat([
    open(0, { type: 'tool_use', id: 'x', name: 'f', input: { city: 'Oslo' } }),
    delta(0, { type: 'input_json_delta', partial_json: '{"city":' }),
    delta(0, { type: 'input_json_delta', partial_json: '"Oslo"}' }),
    stop(0),
  ]);
  expect(deltas).toEqual([
    { tool_calls: [{ index: 0, id: 'x', type: 'function', function: { name: 'f', arguments: '' } }] },
    { tool_calls: [{ index: 0, function: { arguments: '{"city":' } }] },
    { tool_calls: [{ index: 0, function: { arguments: '"Oslo"}' } }] },
  ]);
});

test('messages → chat: thinking in the start of its block', () => {
  const detail = { type: 'reasoning.text', format: 'anthropic-claude-v1', index: 0 };
  const deltas = toChat([
    open(0, { type: 'thinking', thinking: 'hm', signature: 's' }),
    delta(0, { type: 'thinking_delta', thinking: '!' }),
    stop(0),
  ]);
  expect(deltas).toEqual([
    {
      reasoning_content: 'hm',
      reasoning: 'hm',
      reasoning_details: [{ ...detail, text: 'hm', signature: 's' }],
    },
    { reasoning_content: '!', reasoning: '!', reasoning_details: [{ ...detail, text: '!', signature: '' }] },
  ]);
});

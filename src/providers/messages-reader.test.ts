import { createMessagesReader } from './messages-reader.ts';
import type { StreamPart } from './provider.types.ts';

const start = (index: number, content_block: object) => ({
  type: 'content_block_start',
  index,
  content_block,
});
const delta = (index: number, body: object) => ({ type: 'content_block_delta', index, delta: body });
const stop = (index: number) => ({ type: 'content_block_stop', index });
const tool = (name: string) => ({ type: 'tool_use', id: `toolu_${name}`, name, input: {} });
const input = (partial_json: string) => ({ type: 'input_json_delta', partial_json });
const text = (said: string) => ({ type: 'text_delta', text: said });
const thought = (thinking: string) => ({ type: 'thinking_delta', thinking });
const TEXT = { type: 'text', text: '' };
const THINKING = { type: 'thinking', thinking: '', signature: '' };

interface Told {
  readonly type: string;
  readonly index: number;
  readonly content_block?: { readonly type: string; readonly name?: string };
  readonly delta?: Readonly<Record<string, string>>;
}

/** Reads events as the client of a whole stream does: each block with what its deltas add up to. Only one may be open at a time. */
function blocksOf(events: readonly object[]): string[] {
  const reader = createMessagesReader();
  const parts: StreamPart[] = [];
  for (const event of events) {
    reader.read({ ...event }, parts);
  }
  reader.finish(parts);
  const blocks: string[] = [];
  let open = false;
  for (const event of parts.map(({ wire }) => wire) as unknown as Told[]) {
    if (event.type === 'content_block_start') {
      expect([open, event.index]).toEqual([false, blocks.length]);
      open = true;
      blocks.push(`${event.content_block?.name ?? event.content_block?.type}:`);
    } else if (event.type.startsWith('content_block_')) {
      expect([open, event.index]).toEqual([true, blocks.length - 1]);
      open = event.type === 'content_block_delta';
      const { type: _, ...added } = event.delta ?? {};
      blocks.push(blocks.pop() + Object.values(added).join(''));
    }
  }
  expect(open).toBe(false);
  return blocks;
}

test.each<[string, object[], string[]]>([
  [
    'two calls at once',
    [
      start(0, tool('f')),
      start(1, tool('g')),
      delta(0, input('{"city":"Oslo"}')),
      delta(1, input('{"city":"Rome"}')),
      stop(0),
      stop(1),
    ],
    ['f:{"city":"Oslo"}', 'g:{"city":"Rome"}'],
  ],
  [
    'the second call is stopped first',
    [
      start(0, tool('f')),
      start(1, tool('g')),
      delta(1, input('{"b":')),
      delta(0, input('{"a":')),
      delta(1, input('2}')),
      stop(1),
      delta(0, input('1}')),
      stop(0),
    ],
    ['f:{"a":1}', 'g:{"b":2}'],
  ],
  [
    'three calls, none of them stopped',
    [
      start(0, tool('f')),
      start(1, tool('g')),
      start(2, tool('h')),
      delta(2, input('{"c":3}')),
      delta(1, input('{"b":2}')),
      delta(0, input('{"a":1}')),
    ],
    ['f:{"a":1}', 'g:{"b":2}', 'h:{"c":3}'],
  ],
  [
    'text that goes on after a call began',
    [
      start(0, TEXT),
      delta(0, text('A')),
      start(1, tool('f')),
      delta(0, text('B')),
      delta(1, input('{}')),
      stop(0),
      stop(1),
    ],
    ['text:AB', 'f:{}'],
  ],
  [
    'text with the index of a call (SGLang)',
    [
      start(0, tool('f')),
      delta(0, input('{"a":')),
      delta(0, text('A')),
      delta(0, text('')),
      delta(0, input('1}')),
      delta(0, text('B')),
      stop(0),
      start(1, TEXT),
      delta(1, text('C')),
      stop(1),
    ],
    ['f:{"a":1}', 'text:AB', 'text:C'],
  ],
  [
    'thinking and its signature with the index of a call',
    [
      start(0, tool('f')),
      delta(0, thought('hm')),
      delta(0, { type: 'signature_delta', signature: '!' }),
      delta(0, input('{}')),
    ],
    ['f:{}', 'thinking:hm!'],
  ],
  [
    'a signature that comes after the text began',
    [
      start(0, THINKING),
      delta(0, thought('hm')),
      start(1, TEXT),
      delta(1, text('A')),
      delta(0, { type: 'signature_delta', signature: '!' }),
      stop(0),
      delta(1, text('B')),
      stop(1),
    ],
    ['thinking:hm!', 'text:AB'],
  ],
  [
    'all deltas with index 0',
    [
      start(0, TEXT),
      delta(0, text('A')),
      stop(0),
      start(1, tool('f')),
      delta(0, input('{"a":')),
      delta(0, input('1}')),
      stop(1),
    ],
    ['text:A', 'f:{"a":1}'],
  ],
  [
    'all blocks with index 0, not stopped',
    [start(0, THINKING), delta(0, thought('hm')), start(0, TEXT), delta(0, text('A'))],
    ['thinking:hm', 'text:A'],
  ],
  [
    'neither starts nor stops',
    [delta(0, thought('hm')), delta(1, text('A')), delta(1, text('B'))],
    ['thinking:hm', 'text:AB'],
  ],
  [
    'a block that is stopped twice',
    [
      start(0, TEXT),
      stop(0),
      start(1, tool('f')),
      delta(1, input('{')),
      stop(0),
      delta(1, input('}')),
      stop(1),
    ],
    ['text:', 'f:{}'],
  ],
  [
    'an empty delta of a call that is over',
    [start(0, tool('f')), delta(0, input('{}')), stop(0), delta(0, input(''))],
    ['f:{}'],
  ],
])('%s', (_name, events, expected) => {
  expect(blocksOf(events)).toEqual(expected);
});

test.each<[string, object[]]>([
  ['only with the start', []],
  [
    'with the start and in pieces',
    [delta(0, input('')), delta(0, input('{"city":')), delta(0, input('"Oslo"}'))],
  ],
])('an input that comes %s', (_how, pieces) => {
  const begun = start(0, { ...tool('f'), input: { city: 'Oslo' } });
  const reader = createMessagesReader();
  const parts: StreamPart[] = [];
  for (const event of [begun, ...pieces, stop(0)]) {
    reader.read({ ...event }, parts);
  }
  expect(parts[0]?.wire).toEqual(start(0, tool('f')));
  expect(parts.map((part) => part.text).join('')).toBe('f{"city":"Oslo"}');
  expect(blocksOf([begun, ...pieces, stop(0)])).toEqual(['f:{"city":"Oslo"}']);
});

test('a signature that comes with the start and in a delta', () => {
  const signed = start(0, { ...THINKING, thinking: 'hm', signature: '!' });
  const signature = delta(0, { type: 'signature_delta', signature: '!' });
  expect(blocksOf([signed, delta(0, thought(' ok')), stop(0)])).toEqual(['thinking:hm ok!']);
  expect(blocksOf([signed, signature, stop(0)])).toEqual(['thinking:hm!']);
});

test('events without an index', () => {
  const plain = [
    start(0, TEXT),
    delta(0, text('A')),
    start(0, tool('f')),
    delta(0, input('{"a":1}')),
    stop(0),
    start(0, TEXT),
    delta(0, text('B')),
  ].map(({ index: _, ...event }) => event);
  expect(blocksOf(plain)).toEqual(['text:A', 'f:{"a":1}', 'text:B']);
});

test('thinking that is never stopped delays the text for a few deltas only', () => {
  const reader = createMessagesReader();
  const parts: StreamPart[] = [];
  const said = () => parts.map((part) => part.text).join('').length;
  for (const event of [start(0, THINKING), delta(0, thought('hm')), start(1, TEXT)]) {
    reader.read(event, parts);
  }
  for (let count = 1; count <= 40; count += 1) {
    reader.read(delta(1, text('A')), parts);
    expect(said()).toBe(count < 16 ? 0 : count);
  }
});

test('the input of a call that begins while another one is open waits for as long as it takes', () => {
  const pieces = Array.from({ length: 500 }, (_, index) =>
    delta(1, input(`${index === 0 ? '[' : ','}${index}`)),
  );
  const [first, second] = blocksOf([
    start(0, tool('f')),
    start(1, tool('g')),
    ...pieces,
    delta(0, input('{"a":1}')),
    delta(1, input(']')),
  ]);
  expect(first).toBe('f:{"a":1}');
  expect(JSON.parse(second!.slice(2))).toHaveLength(500);
});

test('the input of an unknown call is refused', () => {
  expect(() => blocksOf([start(0, TEXT), delta(0, text('A')), delta(0, input('{"a":1}'))])).toThrow(
    'malformed',
  );
});

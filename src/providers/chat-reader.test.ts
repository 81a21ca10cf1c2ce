import { answerIn, type StreamedAnswer } from '../../test/factories/streamed-answer.ts';
import { createChatReader, readChatAnswer } from './chat-reader.ts';
import { type JsonObject, objectOf, objectsOf } from './json.ts';
import type { StreamPart } from './provider.types.ts';

const OSLO = '{"city":"Oslo"}';
const ROME = '{"city":"Rome"}';

function read(...calls: JsonObject[]): StreamedAnswer {
  return answerIn(createChatReader(), [
    ...calls.map((call) => chunk({ tool_calls: [call] })),
    chunk({}, 'stop'),
  ]);
}

function chunk(delta: JsonObject, finish_reason: string | null = null): JsonObject {
  return { choices: [{ index: 0, delta, finish_reason }] };
}

/** A piece of a call of the function f. */
function f(args: unknown, more: JsonObject = {}): JsonObject {
  return { function: { name: 'f', arguments: args }, ...more };
}

/** A piece without a name. */
function piece(args: unknown, more: JsonObject = {}): JsonObject {
  return { function: { arguments: args }, ...more };
}

const FIRST = { index: 0, id: 'c1' };
const SECOND = { index: 1, id: 'c2' };
const NEXT = { index: 0 };

describe('the free text of a custom tool', () => {
  test.each(['100', '{"a":1}', '[1]', '"a"', '{}'])('may repeat itself: %s', (text) => {
    const first = { ...FIRST, type: 'custom', custom: { name: 'shell', input: text } };
    const begun = { ...FIRST, type: 'custom', custom: { name: 'shell', input: '' } };
    const next = { index: 0, custom: { input: text } };
    expect(read(first, next).calls).toEqual([['c1', 'shell', text + text]]);
    expect(read(begun, next, next).calls).toEqual([['c1', 'shell', text + text]]);
  });

  test('may be empty', () => {
    const call = { id: 'c1', type: 'custom', custom: { name: 'shell', input: '' } };
    expect(read(call).calls).toEqual([['c1', 'shell', '']]);
    const { wire } = readChatAnswer({ choices: [{ index: 0, message: { tool_calls: [call] } }] });
    expect(wire.choices).toMatchObject([{ message: { tool_calls: [call] } }]);
  });
});

describe('one call', () => {
  const split = [piece('{"city":', NEXT), piece('"Oslo"}', NEXT)];
  test.each<[string, JsonObject[]]>([
    ['that begins with {}', [f('{}', FIRST), ...split]],
    ['that begins with {} as an object', [f({}, FIRST), piece(OSLO, NEXT)]],
    ['that begins with { } twice', [f('{ }', FIRST), piece('{}', NEXT), ...split]],
    ['whose number is text', [f('', { index: '0', id: 'c1' }), piece(OSLO, { index: '0' })]],
    ['that repeats its name, without ids and numbers', [f('{"city":', { id: 'c1' }), f('"Oslo"}')]],
    ['that comes twice as a whole', [f(OSLO, FIRST), f(OSLO, FIRST)]],
    ['that comes twice, written otherwise', [f(OSLO, FIRST), piece('{ "city": "Oslo" }', NEXT)]],
    [
      'that repeats all arguments in each piece',
      [f('{"city":', FIRST), piece('{"city":"Os', NEXT), piece('{"city":"Os', NEXT), piece(OSLO, NEXT)],
    ],
    [
      'that repeats all arguments in each piece, and its name',
      [f('{"city":', { id: 'c1' }), f('{"city":"Os'), f(OSLO)],
    ],
  ])('%s', (_name, calls) => {
    expect(read(...calls)).toMatchObject({ calls: [['c1', 'f', OSLO]], finish: 'tool_calls' });
  });

  test('has no arguments', () => {
    expect(read(f('null', FIRST)).calls).toEqual([['c1', 'f', '{}']]);
    expect(read(f('null', FIRST), piece(OSLO, NEXT)).calls).toEqual([['c1', 'f', OSLO]]);
    const { wire } = readChatAnswer({ choices: [{ message: { tool_calls: [f('null', { id: 'c1' })] } }] });
    expect(JSON.stringify(wire)).toContain('"arguments":"{}"');
    expect(read(f('{}', FIRST)).calls).toEqual([['c1', 'f', '{}']]);
    expect(read(f('{}', FIRST), piece('\n', NEXT)).calls).toEqual([['c1', 'f', '{}\n']]);
    expect(read(f('{}', FIRST), f('{"a":1}', SECOND)).calls).toEqual([
      ['c1', 'f', '{}'],
      ['c2', 'f', '{"a":1}'],
    ]);
  });

  test.each([
    // exact streams whose pieces look like repeats of what came before
    ['{"a":', '{"a":1}', '}'],
    ['{"a":', '{"a":', '{"a":1}', '}}'],
    ['{"a":"', '{"a":"', 'x', '"}'],
    ['{"a', '{}', '":1}'],
    ['{', '}'],
    ['{}', ' '],
  ])('comes exactly as it was sent: %s %s', (...pieces) => {
    const [first, ...rest] = pieces;
    const text = pieces.join('');
    expect(read(f(first, FIRST), ...rest.map((more) => piece(more, NEXT))).calls).toEqual([
      ['c1', 'f', text],
    ]);
  });

  test('repeats its arguments before text follows', () => {
    const events = [f('{"city":', FIRST), piece(OSLO, NEXT)].map((call) => chunk({ tool_calls: [call] }));
    const answer = answerIn(createChatReader(), [...events, chunk({ content: 'Hi' }), chunk({}, 'stop')]);
    expect(answer).toMatchObject({ text: 'Hi', calls: [['c1', 'f', OSLO]] });
  });
});

describe('two calls', () => {
  const split = (args: string, number: JsonObject) => [
    f(args.slice(0, 8), number),
    piece(args.slice(8), number),
  ];
  test.each<[string, JsonObject[]]>([
    [
      'whose numbers are text',
      [
        f('', { index: '0', id: 'c1' }),
        f('', { index: '1', id: 'c2' }),
        piece(OSLO, { index: '0' }),
        piece(ROME, { index: '1' }),
      ],
    ],
    ['of one function, numbered 0, without ids', [f(OSLO, NEXT), f(ROME, NEXT)]],
    ['of one function, numbered 0, without ids, in pieces', [...split(OSLO, NEXT), ...split(ROME, NEXT)]],
    ['of one function, without numbers and ids', [f(OSLO), f(ROME)]],
    ['of one function, without numbers and ids, in pieces', [...split(OSLO, {}), ...split(ROME, {})]],
    ['that begin with {}', [f('{}', FIRST), f('{}', SECOND), piece(OSLO, NEXT), piece(ROME, { index: 1 })]],
  ])('%s', (_name, calls) => {
    const args = read(...calls).calls.map((call) => call.slice(1));
    expect(args).toEqual([
      ['f', OSLO],
      ['f', ROME],
    ]);
  });

  test('whose pieces come in turn are passed on one after the other', () => {
    const pieces = [
      [f('{"city":', FIRST)],
      [f('{"city":', SECOND)],
      [piece('"Rome"}', { index: 1 })],
      [piece('"Os', NEXT), piece('lo"}', NEXT)],
      [f('{}', { index: 2, id: 'c3' }), f('{"a":', { index: 3, id: 'c4' })],
      [piece('1}', { index: 3 })],
    ];
    const reader = createChatReader();
    const passedOn = pieces.map((tool_calls) => {
      const parts: StreamPart[] = [];
      reader.read(chunk({ tool_calls }), parts);
      const deltas = parts.flatMap(({ wire }) => objectsOf(wire.choices)).map(({ delta }) => objectOf(delta));
      return deltas.flatMap((delta) => objectsOf(delta.tool_calls)).map(({ index }) => index);
    });
    expect(passedOn).toEqual([[0], [], [], [0, 0, 1], [2, 2, 3], [3]]);
  });

  test('of which the first has no arguments, numbered 0, without ids', () => {
    const other = { function: { name: 'g', arguments: OSLO }, ...NEXT };
    for (const calls of [
      [f('{}', NEXT), other],
      [f({}), other],
    ]) {
      expect(read(...calls).calls.map((call) => call.slice(1))).toEqual([
        ['f', '{}'],
        ['g', OSLO],
      ]);
    }
  });

  test.each([
    ['in one', [f(OSLO, FIRST), piece(ROME, NEXT)]],
    ['in one piece', [f(OSLO + ROME, FIRST)]],
    ['in one, with braces in strings', [f('{"a":"}{\\""}', FIRST), piece(OSLO, NEXT), piece('{}', NEXT)]],
  ])('are refused %s', (_name, calls) => {
    expect(() => read(...calls)).toThrow('malformed');
    const merged = f(OSLO + ROME, { id: 'c1' });
    expect(() => readChatAnswer({ choices: [{ message: { tool_calls: [merged] } }] })).toThrow('malformed');
  });

  test.each(['{"city":"Os', '{"a":1}}', 'no JSON', '{"a":1}{'])(
    'are not seen in broken arguments: %s',
    (args) => {
      expect(read(f(args, FIRST)).calls).toEqual([['c1', 'f', args]]);
    },
  );
});

describe('a whole message at the end', () => {
  const calls = [f(OSLO, { id: 'c1' }), f(ROME, { id: 'c2' })];
  const both = [
    ['c1', 'f', OSLO],
    ['c2', 'f', ROME],
  ];
  const whole = { role: 'assistant', content: 'Hi', tool_calls: calls };
  const end = (more: JsonObject, message: JsonObject = whole) => ({
    choices: [{ index: 0, ...more, message, finish_reason: 'stop' }],
  });
  test.each<[string, JsonObject[]]>([
    ['has calls that no delta had', [chunk({ content: 'Hi' }), end({})]],
    ['has calls that no delta had, beside an empty one', [chunk({ content: 'Hi' }), end({ delta: {} })]],
    ['is all there is, beside an empty delta', [end({ delta: { role: 'assistant', content: '' } })]],
    ['repeats everything', [chunk({ content: 'Hi' }), chunk({ tool_calls: calls }), end({})]],
  ])('%s', (_name, events) => {
    const answer = answerIn(createChatReader(), events);
    expect(answer).toMatchObject({ text: 'Hi', calls: both, finish: 'tool_calls' });
  });

  test('has calls without ids and numbers', () => {
    const same = { tool_calls: [f(OSLO), f(OSLO)] };
    const answer = answerIn(createChatReader(), [chunk({ content: 'Hi' }), end({}, same)]);
    expect(answer.calls.map(([, ...call]) => call)).toEqual([
      ['f', OSLO],
      ['f', OSLO],
    ]);
  });
});

test.each([
  ['length', 'stop', 'length'],
  ['content_filter', 'stop', 'content_filter'],
  ['stop', 'length', 'length'],
  ['stop', 'stop', 'stop'],
])('an answer that ends with %s and then with %s ends with %s', (first, second, finishReason) => {
  const { finish } = answerIn(createChatReader(), [chunk({ content: 'Oslo' }, first), chunk({}, second)]);
  expect(finish).toBe(finishReason);
});

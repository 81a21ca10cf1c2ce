import { answerIn, type StreamedAnswer } from '../../test/factories/streamed-answer.ts';
import type { JsonObject } from './json.ts';
import { createResponsesReader, readResponsesAnswer } from './responses-reader.ts';

const OSLO = '{"city":"Oslo"}';
const ROME = '{"city":"Rome"}';

function call(number: number, args: string, more: JsonObject = {}): JsonObject {
  const ids = { id: `fc_${number}`, call_id: `call_${number}` };
  return { type: 'function_call', ...ids, name: `tool${number}`, arguments: args, ...more };
}

function shell(input: string): JsonObject {
  return { type: 'custom_tool_call', id: 'ctc_1', call_id: 'call_1', name: 'shell', input };
}

function message(text?: string, more: JsonObject = {}): JsonObject {
  const content = text === undefined ? [] : [{ type: 'output_text', text }];
  return { type: 'message', id: 'msg_1', role: 'assistant', content, ...more };
}

function thought(summary: readonly string[]): JsonObject {
  return { type: 'reasoning', id: 'rs_1', summary: summary.map((text) => ({ type: 'summary_text', text })) };
}

const added = (item: JsonObject, output_index?: number) => event('output_item.added', { item, output_index });
const done = (item: JsonObject, output_index?: number) => event('output_item.done', { item, output_index });
const completed = (...output: JsonObject[]) =>
  event('completed', { response: { status: 'completed', output } });

function event(type: string, members: JsonObject): JsonObject {
  return { type: `response.${type}`, ...members };
}

/** An event about part of the first item. */
function part(type: string, members: JsonObject, id = 'fc_1'): JsonObject {
  return event(type, { item_id: id, output_index: 0, content_index: 0, ...members });
}

/** An event of a server that numbers nothing. */
function piece(delta: string, item_id?: string): JsonObject {
  return event('function_call_arguments.delta', { delta, item_id });
}

function read(events: readonly JsonObject[]): StreamedAnswer {
  return answerIn(createResponsesReader('here'), events);
}

const ONE = { calls: [['call_1', 'tool1', OSLO]], finish: 'tool_calls' };
const BOTH = {
  calls: [
    ['call_1', 'tool1', OSLO],
    ['call_2', 'tool2', ROME],
  ],
};

describe('the arguments of a call', () => {
  test.each<[string, JsonObject[]]>([
    [
      'only as a whole',
      [
        added(call(1, ''), 0),
        part('function_call_arguments.done', { arguments: OSLO }),
        completed(call(1, OSLO)),
      ],
    ],
    [
      'as a whole, and nowhere else',
      [added(call(1, ''), 0), part('function_call_arguments.done', { arguments: OSLO }), completed()],
    ],
    ['only in the last event', [added(call(1, ''), 0), completed(call(1, OSLO))]],
    ['only in the first event', [added(call(1, OSLO), 0), completed()]],
    [
      'in the last event, under other ids',
      [
        added(call(1, ''), 0),
        done(call(1, OSLO, { id: 'x' }), 0),
        completed(call(1, OSLO, { id: 'y', call_id: 'z' })),
      ],
    ],
    [
      'after an empty piece',
      [
        added(call(1, ''), 0),
        part('function_call_arguments.delta', { delta: '' }),
        part('function_call_arguments.done', { arguments: OSLO }),
        done(call(1, OSLO), 0),
        completed(call(1, OSLO)),
      ],
    ],
    [
      'after {}',
      [
        added(call(1, ''), 0),
        part('function_call_arguments.delta', { delta: '{}' }),
        done(call(1, OSLO), 0),
        completed(call(1, OSLO)),
      ],
    ],
    [
      'of which the last piece is missing',
      [
        added(call(1, ''), 0),
        part('function_call_arguments.delta', { delta: OSLO.slice(0, 5) }),
        completed(call(1, OSLO)),
      ],
    ],
    [
      'before the call',
      [
        part('function_call_arguments.delta', { delta: OSLO.slice(0, 5) }),
        part('function_call_arguments.delta', { delta: OSLO.slice(5) }),
        done(call(1, OSLO), 0),
        completed(call(1, OSLO)),
      ],
    ],
    [
      'in pieces whose item has another id each time',
      [
        added(call(1, ''), 0),
        part('function_call_arguments.delta', { delta: OSLO.slice(0, 5) }, 'a'),
        part('function_call_arguments.delta', { delta: OSLO.slice(5) }, 'b'),
        part('function_call_arguments.done', { arguments: OSLO }, 'c'),
        done(call(1, OSLO, { id: 'd' }), 0),
        completed(call(1, OSLO, { id: 'e' })),
      ],
    ],
  ])('arrive %s', (_name, events) => {
    expect(read(events)).toMatchObject(ONE);
  });

  test.each<[string, JsonObject[]]>([
    ['whole', [added(call(1, '')), done(call(1, OSLO)), added(call(2, '')), done(call(2, ROME))]],
    ['only whole', [done(call(1, OSLO)), done(call(2, ROME))]],
    [
      'in pieces with the id of the item',
      [added(call(1, '')), added(call(2, '')), piece(OSLO, 'fc_1'), piece(ROME, 'fc_2')],
    ],
    [
      'in pieces without an id',
      [
        added(call(1, '')),
        piece(OSLO),
        done(call(1, OSLO)),
        added(call(2, '')),
        piece(ROME),
        done(call(2, ROME)),
      ],
    ],
    [
      'in pieces, all items with the same place',
      [
        added(call(1, ''), 0),
        part('function_call_arguments.delta', { delta: OSLO }),
        done(call(1, OSLO), 0),
        added(call(2, ''), 0),
        part('function_call_arguments.delta', { delta: ROME }, 'fc_2'),
        done(call(2, ROME), 0),
      ],
    ],
  ])('of two calls are kept apart where items have no place: %s', (_name, events) => {
    expect(read([...events, completed(call(1, OSLO), call(2, ROME))])).toMatchObject(BOTH);
    expect(read([...events, completed()])).toMatchObject(BOTH);
  });

  test('are free text of a custom tool, whatever its pieces look like', () => {
    const parts = ['100', '100'].map((delta) => part('custom_tool_call_input.delta', { delta }, 'ctc_1'));
    const whole = part('custom_tool_call_input.done', { input: '100100' }, 'ctc_1');
    for (const events of [[...parts, whole], [whole], parts]) {
      const answer = read([added(shell(''), 0), ...events, completed(shell('100100'))]);
      expect(answer.calls).toEqual([['call_1', 'shell', '100100']]);
    }
  });

  test('without a name are refused', () => {
    const events = [part('function_call_arguments.delta', { delta: OSLO }), completed()];
    expect(() => read(events)).toThrow('malformed');
  });
});

describe('text', () => {
  const text = (delta: string) => part('output_text.delta', { delta }, 'msg_1');
  test.each<[string, JsonObject[]]>([
    [
      'only as a whole',
      [
        added(message(), 0),
        part('content_part.added', { part: { type: 'output_text', text: '' } }, 'msg_1'),
        part('output_text.done', { text: 'Hi there' }, 'msg_1'),
        completed(message('Hi there')),
      ],
    ],
    [
      'only as a whole part',
      [
        added(message(), 0),
        part('content_part.done', { part: { type: 'output_text', text: 'Hi there' } }, 'msg_1'),
        completed(),
      ],
    ],
    ['only in the last event', [added(message(), 0), completed(message('Hi there'))]],
    [
      'after an empty piece',
      [
        text(''),
        part('output_text.done', { text: 'Hi there' }, 'msg_1'),
        done(message('Hi there'), 0),
        completed(message('Hi there')),
      ],
    ],
    ['after an empty piece, only in its item', [text(''), done(message('Hi there'), 0), completed()]],
    ['of which the end is missing', [text('Hi'), completed(message('Hi there'))]],
    [
      'of an item that the last event has elsewhere',
      [
        added(thought([]), 0),
        event('output_text.delta', { output_index: 1, delta: 'Hi there' }),
        completed(message('Hi there', { id: 'x' })),
      ],
    ],
    ['that the last event has otherwise', [text('Hi there'), completed(message('Hi, there'))]],
  ])('arrives %s', (_name, events) => {
    expect(read(events)).toMatchObject({ text: 'Hi there', calls: [], finish: 'stop' });
  });

  test('is followed by a call that only the last event has', () => {
    expect(read([text('Hi'), completed(message('Hi'), call(1, OSLO))])).toMatchObject({ text: 'Hi', ...ONE });
  });

  test('has parts', () => {
    const parts = ['a', 'b'].map((text, content_index) =>
      part('output_text.done', { text, content_index }, 'msg_1'),
    );
    const whole = message('a', { content: ['a', 'b'].map((text) => ({ type: 'output_text', text })) });
    expect(read([...parts, done(whole, 0), completed(whole)])).toMatchObject({ text: 'ab' });
    expect(read([text('a'), completed(whole)])).toMatchObject({ text: 'ab' });
  });

  test('is of several messages', () => {
    const [one, other] = [message('a'), message('b', { id: 'msg_2' })];
    expect(read([done(one), done(other), completed(one, other)])).toMatchObject({ text: 'ab' });
    expect(read([done(one, 0), done(other, 0), completed(one, other)])).toMatchObject({ text: 'ab' });
    expect(read([text('a'), completed(one, other)])).toMatchObject({ text: 'ab' });
  });

  test('refuses', () => {
    const whole = message(undefined, { content: [{ type: 'refusal', refusal: 'No.' }] });
    for (const events of [
      [part('refusal.done', { refusal: 'No.' }, 'msg_1')],
      [part('refusal.delta', { delta: '' }, 'msg_1')],
      [part('refusal.delta', { delta: 'N' }, 'msg_1')],
    ]) {
      expect(read([...events, completed(whole)])).toMatchObject({ refusal: 'No.', text: '' });
    }
  });
});

describe('reasoning', () => {
  const summary = (type: string, members: JsonObject, summary_index: number) =>
    event(`reasoning_summary_text.${type}`, { output_index: 0, item_id: 'rs_1', summary_index, ...members });
  test.each<[string, JsonObject[]]>([
    ['only as a whole', [summary('done', { text: 'A' }, 0), summary('done', { text: 'B' }, 1), completed()]],
    ['after an empty piece', [summary('delta', { delta: '' }, 0), done(thought(['A', 'B']), 0), completed()]],
    ['of which a part is missing', [summary('delta', { delta: 'A' }, 0), completed(thought(['A', 'B']))]],
    [
      'exactly',
      [
        summary('delta', { delta: 'A' }, 0),
        summary('done', { text: 'A' }, 0),
        summary('delta', { delta: 'B' }, 1),
        done(thought(['A', 'B']), 0),
        completed(thought(['A', 'B'])),
      ],
    ],
  ])('arrives %s', (_name, events) => {
    expect(read([added(thought([]), 0), ...events])).toMatchObject({ reasoning: 'A\n\nB' });
  });
});

test('a stream that sent items may leave them out of its last event', () => {
  const last = event('completed', { response: { status: 'completed' } });
  expect(read([done(message('Hi'), 0), last])).toMatchObject({ text: 'Hi' });
  expect(() => read([last])).toThrow('malformed');
});

test('items of a whole answer are never taken for each other', () => {
  const same = { id: 'fc_1', call_id: 'call_1' };
  const output = [message('a'), message('b'), call(1, OSLO), call(1, OSLO), call(2, ROME, same)];
  const { wire } = readResponsesAnswer({ status: 'completed', output }, 'here');
  expect(wire.choices).toMatchObject([
    {
      message: {
        content: 'ab',
        tool_calls: [OSLO, OSLO, ROME].map((args) => ({ function: { arguments: args } })),
      },
    },
  ]);
});

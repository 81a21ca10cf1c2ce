import { answerIn, type StreamedAnswer } from '../../test/factories/streamed-answer.ts';
import { createChatReader } from './chat-reader.ts';
import type { JsonObject } from './json.ts';

function read(...calls: JsonObject[]): StreamedAnswer {
  return answerIn(createChatReader(), [
    ...calls.map((call) => chunk({ tool_calls: [call] })),
    chunk({}, 'stop'),
  ]);
}

function chunk(delta: JsonObject, finish_reason: string | null = null): JsonObject {
  return { choices: [{ index: 0, delta, finish_reason }] };
}

describe('the free text of a custom tool', () => {
  test.each(['100', '{"a":1}', '[1]', '"a"'])('may repeat itself: %s', (text) => {
    const first = { index: 0, id: 'c1', type: 'custom', custom: { name: 'shell', input: text } };
    const next = { index: 0, custom: { input: text } };
    expect(read(first, next).calls).toEqual([['c1', 'shell', text + text]]);
    const begun = { index: 0, id: 'c1', type: 'custom', custom: { name: 'shell', input: '' } };
    expect(read(begun, next, next).calls).toEqual([['c1', 'shell', text + text]]);
    // a server may leave out what kind of call it continues
    expect(read(first, { index: 0, type: 'custom', custom: { input: text } }).calls).toEqual([
      ['c1', 'shell', text + text],
    ]);
  });
});

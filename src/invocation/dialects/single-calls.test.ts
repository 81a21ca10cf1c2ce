import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { atOnce } from '../../lib/steps.ts';
import { type JsonObject, objectsOf } from '../../providers/json.ts';
import { withSingleCalls } from './single-calls.ts';

const turns = (messages: readonly JsonObject[]) => objectsOf(atOnce(withSingleCalls({ messages })).messages);
const user = { role: 'user', content: 'Hi' };
const call = (id: string) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } });
const calling = (content: unknown, ...ids: string[]) => ({
  role: 'assistant',
  content,
  tool_calls: ids.map(call),
});
const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: `of ${id}` });

test('each call has a turn and its result', () => {
  expect(turns([user, calling('Looking.', 'a', 'b'), result('b'), result('a'), user])).toEqual([
    user,
    calling('Looking.', 'a'),
    result('a'),
    calling(null, 'b'),
    result('b'),
    user,
  ]);
});

test('a call without a result, and a result without a call, are kept', () => {
  expect(turns([calling(null, 'a', 'b'), result('b'), result('c')])).toEqual([
    calling(null, 'a'),
    calling(null, 'b'),
    result('b'),
    result('c'),
  ]);
});

test('a request with single calls stays as it is', () => {
  const body = { messages: [user, calling(null, 'a'), result('a'), user] };
  expect(atOnce(withSingleCalls(body))).toBe(body);
});

test('nothing is lost or said twice in any conversation, however long', () => {
  const ids = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 4 });
  const message = fc.oneof(
    fc.constant(user),
    ids.map((some) => calling('x', ...new Set(some))),
    fc.constantFrom('a', 'b', 'c', 'd').map(result),
  );
  fc.assert(
    fc.property(fc.array(message, { maxLength: 30 }), (messages: JsonObject[]) => {
      const apart = turns(messages);
      const calls = (list: readonly JsonObject[]) => list.flatMap(({ tool_calls }) => objectsOf(tool_calls));
      const of = (role: string, list: readonly JsonObject[]) => list.filter((one) => one.role === role);
      expect(calls(apart)).toEqual(calls(messages));
      expect(apart.every(({ tool_calls }) => objectsOf(tool_calls).length <= 1)).toBe(true);
      expect(of('user', apart)).toEqual(of('user', messages));
      const sorted = (list: readonly JsonObject[]) =>
        of('tool', list)
          .map(({ content }) => content)
          .sort();
      expect(sorted(apart)).toEqual(sorted(messages));
    }),
  );
  const many = Array.from({ length: 4_000 }, () => [
    calling(null, 'a', 'b'),
    result('a'),
    result('b'),
  ]).flat();
  expect(turns(many)).toHaveLength(16_000);
});

test('100,000 results of one call, or of none, are put in their places at once', () => {
  const results = (id: string) => Array.from({ length: 100_000 }, () => result(id));
  expect(turns([calling(null, 'a', 'b'), ...results('a')])).toHaveLength(100_002);
  expect(turns([calling(null, 'a', 'b'), ...results('c')])).toHaveLength(100_002);
});

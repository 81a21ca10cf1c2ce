import { expect, test } from '@jest/globals';
import { atOnce } from '../../lib/steps.ts';
import type { JsonObject } from '../../providers/json.ts';
import { withAlternatingTurns } from './alternating-turns.ts';

const turns = (messages: readonly JsonObject[]) => atOnce(withAlternatingTurns({ messages })).messages;
const user = (content: unknown) => ({ role: 'user', content });
const model = (content: unknown) => ({ role: 'assistant', content });
const CALL = { role: 'assistant', content: null, tool_calls: [{ id: 'a' }] };
const RESULT = { role: 'tool', tool_call_id: 'a', content: 'done' };
const part = (text: string) => ({ type: 'text', text });
const IMAGE = { type: 'image_url', image_url: { url: 'data:' } };

test('the model has its turn between results and the next question, and ends with results alone', () => {
  expect(turns([user('a'), CALL, RESULT, RESULT, user('b'), CALL, RESULT])).toEqual([
    ...[user('a'), CALL, RESULT, RESULT, model('OK.'), user('b'), CALL, RESULT],
  ]);
});

test('questions in a row are one, with all their parts in order', () => {
  expect(turns([user('a'), user('b'), user([IMAGE]), user('c')])).toEqual([
    user([part('a\n\nb'), IMAGE, part('c')]),
  ]);
  expect(turns([user('a'), user('b')])).toEqual([user('a\n\nb')]);
});

test('thousands of questions in a row, each of them long, are joined at once', () => {
  const [one] = turns(Array.from({ length: 8_000 }, () => user('x'.repeat(3_000)))) as JsonObject[];
  expect(String(one?.content)).toHaveLength(8_000 * 3_002 - 2);
});

test('answers in a row are one, which may end in calls', () => {
  const called = { ...CALL, content: 'Looking.' };
  expect(turns([user('a'), model('Well.'), called, RESULT])).toEqual([
    ...[user('a'), { ...CALL, content: 'Well.\n\nLooking.' }, RESULT],
  ]);
  // two rounds of calls without results between them: not ours to mend
  expect(turns([user('a'), CALL, CALL])).toEqual([user('a'), CALL, CALL]);
});

test('the user speaks first and last, and an answer that says nothing is no turn', () => {
  const system = { role: 'system', content: 'Be brief.' };
  const hello = user('Hello.');
  expect(turns([model('How can I help?'), user('a')])).toEqual([hello, model('How can I help?'), user('a')]);
  expect(turns([system, CALL, RESULT])).toEqual([system, hello, CALL, RESULT]);
  expect(turns([user('a'), model('The')])).toEqual([user('a'), model('The'), user('Go on.')]);
  const prefix = { ...model('The'), prefix: true };
  expect(turns([user('a'), prefix])).toEqual([user('a'), prefix]);
  expect(turns([user('a'), model(''), user('b'), model(null)])).toEqual([user('a\n\nb')]);
});

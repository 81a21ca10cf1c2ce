import { expect, test } from '@jest/globals';
import { atOnce } from '../../lib/steps.ts';
import type { JsonObject } from '../../providers/json.ts';
import { withExplicitMembers, withWholeParameters } from './explicit-members.ts';

const OBJECT = { type: 'object', properties: {} };

function tool(definition: JsonObject, isDescribed = false): unknown {
  const body = { messages: [], tools: [{ type: 'function', function: { name: 'f', ...definition } }] };
  const { tools } = atOnce(withExplicitMembers(body, isDescribed)) as { tools: [{ function: unknown }] };
  return tools[0].function;
}

function message(given: JsonObject): unknown {
  const { messages } = atOnce(withExplicitMembers({ messages: [given] }, false)) as { messages: [unknown] };
  return messages[0];
}

const CALL = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } };
const CALLS = { role: 'assistant', tool_calls: [CALL] };

test('an answer says that it has no text, or that its text is empty', () => {
  expect(message(CALLS)).toEqual({ ...CALLS, content: null });
  expect(message({ role: 'assistant' })).toEqual({ role: 'assistant', content: '' });
  expect(message({ role: 'assistant', content: null })).toEqual({ role: 'assistant', content: '' });
  for (const same of [
    { ...CALLS, content: null },
    { ...CALLS, content: '' },
    { role: 'assistant', content: null, refusal: 'No.' },
    { role: 'assistant', content: null, audio: { id: 'audio_1' } },
    { role: 'user', content: null },
  ]) {
    expect(message(same)).toBe(same);
  }
});

test('calls say their type and their arguments, and no calls are said by no list', () => {
  for (const call of [
    { id: 'a', function: { name: 'f', arguments: '{}' } },
    { ...CALL, function: { name: 'f', arguments: '' } },
    { ...CALL, function: { name: 'f' } },
  ]) {
    expect(message({ ...CALLS, content: null, tool_calls: [call] })).toEqual({ ...CALLS, content: null });
  }
  for (const cut of ['{"path": "a', '[1]', 'ls -l']) {
    const call = { ...CALL, function: { name: 'f', arguments: cut } };
    const whole = { name: 'f', arguments: JSON.stringify({ arguments: cut }) };
    expect(message({ ...CALLS, content: null, tool_calls: [call] })).toMatchObject({
      tool_calls: [{ ...CALL, function: whole }],
    });
  }
  expect(message({ role: 'assistant', content: null, tool_calls: [] })).toEqual({
    role: 'assistant',
    content: '',
  });
  const custom = { role: 'assistant', content: null, tool_calls: [{ id: 'a', custom: { name: 'f' } }] };
  expect(message(custom)).toBe(custom);
});

test.each([
  [undefined, OBJECT],
  [null, OBJECT],
  [{}, OBJECT],
  [{ type: 'object' }, OBJECT],
  [
    { properties: { a: {} }, required: ['a'] },
    { type: 'object', properties: { a: {} }, required: ['a'] },
  ],
  [{ $schema: 'http://json-schema.org/draft-07/schema#' }, { ...OBJECT, $schema: expect.anything() }],
])('the parameters %j are said in full', (parameters, whole) => {
  expect(tool({ parameters })).toEqual({ name: 'f', parameters: whole });
  const given = { tools: [{ type: 'function', name: 'f', parameters }] };
  expect(atOnce(withWholeParameters(given)).tools).toEqual([
    { type: 'function', name: 'f', parameters: whole },
  ]);
});

test('arrays say what they hold, wherever they stand', () => {
  const list = { type: 'array' };
  const whole = { type: 'array', items: {} };
  const schema = (one: JsonObject) => ({
    type: 'object',
    properties: {
      items: one,
      nested: {
        type: 'array',
        items: { type: 'object', properties: { a: { ...one, type: ['array', 'null'] } } },
      },
      either: { anyOf: [{ type: 'string' }, one] },
      open: { type: 'object', additionalProperties: one },
    },
    $defs: { list: one },
  });
  const { nested } = schema(whole).properties;
  expect(tool({ parameters: schema(list) })).toEqual({
    name: 'f',
    parameters: { ...schema(whole), properties: { ...schema(whole).properties, nested } },
  });
});

test.each([
  OBJECT,
  {
    type: 'object',
    properties: { a: { type: 'array', prefixItems: [{}] }, b: { enum: [{ type: 'array' }] } },
  },
  { $ref: '#/$defs/a', $defs: { a: OBJECT } },
  { anyOf: [OBJECT, { type: 'null' }] },
  { type: 'string' },
])('the parameters %j stay as they are', (parameters) => {
  const body = { tools: [{ type: 'function', function: { name: 'f', description: 'd', parameters } }] };
  expect(atOnce(withExplicitMembers(body, true))).toBe(body);
});

test('a tool without a description is described by its name, for models that want one', () => {
  const parameters = OBJECT;
  expect(tool({ parameters }, true)).toEqual({ name: 'f', description: 'f', parameters });
  expect(tool({ parameters, description: null }, true)).toMatchObject({ description: 'f' });
  expect(tool({ parameters, description: 'd' }, true)).toMatchObject({ description: 'd' });
  expect(tool({ parameters }, false)).toEqual({ name: 'f', parameters });
});

test('other tools, and a schema nested without end, are left alone', () => {
  const custom = { tools: [{ type: 'custom', custom: { name: 'f' } }] };
  expect(atOnce(withExplicitMembers(custom, true))).toBe(custom);
  const web = { tools: [{ type: 'web_search' }] };
  expect(atOnce(withWholeParameters(web))).toBe(web);
  let deep: JsonObject = { type: 'array' };
  for (let depth = 0; depth < 50_000; depth += 1) {
    deep = { type: 'array', items: deep };
  }
  expect(tool({ parameters: { type: 'object', properties: { deep } } })).toMatchObject({ name: 'f' });
});

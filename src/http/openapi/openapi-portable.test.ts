import { CLOSED, portable } from './openapi-portable.ts';

test.each<[string, object, object]>([
  ['a nullable string', { anyOf: [{ type: 'string' }, { type: 'null' }] }, { type: ['string', 'null'] }],
  [
    'a nullable choice of words',
    { anyOf: [{ type: 'string', enum: ['a'] }, { type: 'null' }], description: 'd' },
    { type: ['string', 'null'], enum: ['a', null], description: 'd' },
  ],
  [
    'a union in a union',
    { anyOf: [{ anyOf: [{ type: 'string' }, { type: 'array', items: {} }] }, { type: 'null' }] },
    { oneOf: [{ type: 'string' }, { type: 'array', items: {} }, { type: 'null' }] },
  ],
  [
    'a nullable named schema',
    { anyOf: [{ $ref: '#/$defs/A' }, { type: 'null' }] },
    { oneOf: [{ $ref: '#/$defs/A' }, { type: 'null' }] },
  ],
  [
    'an instant or its seconds',
    {
      anyOf: [{ anyOf: [{ type: 'string', format: 'date-time' }, { type: 'integer' }] }, { type: 'null' }],
      description: 'd',
    },
    { type: ['string', 'null'], format: 'date-time', description: 'd' },
  ],
  [
    'a number or its digits',
    { anyOf: [{ type: 'number' }, { type: 'string' }], description: 'd' },
    { type: 'number', description: 'd' },
  ],
  [
    'a word with a default',
    { type: 'string', default: 'a', description: 'd' },
    { type: 'string', description: 'd; by default `a`' },
  ],
  [
    'two objects, which have the same type',
    { anyOf: [{ type: 'object' }, { $ref: '#/$defs/A' }] },
    { anyOf: [{ type: 'object' }, { $ref: '#/$defs/A' }] },
  ],
  [
    'an integer with the limits of JSON',
    { type: 'integer', minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
    { type: 'integer', format: 'int64' },
  ],
  [
    'a bounded integer',
    { type: 'integer', minimum: 1, maximum: 9 },
    { type: 'integer', minimum: 1, maximum: 9, format: 'int32' },
  ],
  [
    'an instant',
    { type: 'string', format: 'date-time', pattern: '^x$' },
    { type: 'string', format: 'date-time' },
  ],
])('%s in a request', (_, schema, expected) => {
  expect(portable(schema as Record<string, unknown>, 'input')).toEqual(expected);
});

test('a member that may only be null becomes a member of any type', () => {
  const object = { type: 'object', properties: { prompt: { type: 'null', description: 'd' } } };
  expect(portable(object, 'input')).toEqual({ type: 'object', properties: { prompt: { description: 'd' } } });
});

test('answers are open, in their members and their enum values', () => {
  const state = { type: 'string', enum: ['a', 'b'] };
  const object = { type: 'object', properties: { state }, additionalProperties: false };
  expect(portable(object, 'output')).toEqual({
    type: 'object',
    properties: { state: { type: 'string', examples: ['a', 'b'], 'x-extensible-enum': ['a', 'b'] } },
  });
  expect(portable(object, 'input')).toEqual(object);
});

test.each(['input', 'output'] as const)(
  'members of any kind are allowed in the form that all readers know: %s',
  (side) => {
    const object = { type: 'object', properties: { detail: { type: 'object', additionalProperties: {} } } };
    expect(portable(object, side)).toEqual({
      ...{ type: 'object', properties: { detail: { type: 'object', additionalProperties: true } } },
    });
  },
);

test('an answer with several plain types lists all of them', () => {
  const union = { anyOf: [{ type: 'number' }, { type: 'string' }] };
  expect(portable(union, 'output')).toEqual({ oneOf: union.anyOf });
});

test('what the API closes stays closed', () => {
  const object = { type: 'object', properties: {}, additionalProperties: false };
  expect(portable({ ...object, [CLOSED]: true }, 'output')).toEqual(object);
});

import { z } from 'zod';
import { atOnce } from '../../lib/steps.ts';
import { validate } from './validate.ts';
import { validateInSteps } from './validate-in-steps.ts';

const schema = z.object({
  model: z.string().min(1).max(5),
  role: z.enum(['user', 'system']).default('user'),
  content: z.union([z.string(), z.array(z.object({ text: z.string() }))]).optional(),
  n: z.literal(1, { error: 'only one answer per call is supported' }).optional(),
  heat: z.int().max(2).optional(),
  inputs: z.union([z.string(), z.array(z.string()).max(2), z.array(z.number()).max(3)]).optional(),
  list: z.array(z.string()).min(1).optional(),
  place: z
    .union([z.object({ path: z.string() }), z.object({ host: z.string(), port: z.number() })])
    .optional(),
  at: z.iso.datetime({ offset: true }).optional(),
});

test.each<[unknown, string]>([
  [{}, 'model: is required'],
  [{ model: 1 }, 'model: must be a string'],
  [{ model: '' }, 'model: must have at least 1 character'],
  [{ model: 'abcdef' }, 'model: must have at most 5 characters'],
  [{ model: 'a', role: 'x' }, 'role: must be "user" or "system"'],
  [{ model: 'a', content: 5 }, 'content: must be a string or a list'],
  [{ model: 'a', content: [{}] }, 'content[0].text: is required'],
  [{ model: 'a', n: 2 }, 'n: only one answer per call is supported'],
  [{ model: 'a', heat: 3 }, 'heat: must be at most 2'],
  [{ model: 'a', heat: 0.5 }, 'heat: must be an integer'],
  [{ model: 'a', inputs: ['b', 'c', 'd'] }, 'inputs: must have at most 2 items'],
  [{ model: 'a', inputs: [1, 2, 3, 4] }, 'inputs: must have at most 3 items'],
  [{ model: 'a', inputs: ['b', 5] }, 'inputs[1]: must be a string'],
  [{ model: 'a', place: { host: 'b', port: 'c' } }, 'place.port: must be a number'],
  [{ model: 'a', place: { path: 5 } }, 'place.path: must be a string'],
  [{ model: 'a', list: [] }, 'list: must have at least 1 item'],
  [{ model: 'a', at: 'noon' }, 'at: must be a time such as 2026-01-31T00:00:00Z'],
  [[], 'body: must be an object'],
])('%j is rejected with a helpful message: %s', (value, words) => {
  expect(() => validate(schema, value, 'body')).toThrow(words);
});

const step = z.discriminatedUnion('step', [
  z.object({ step: z.literal('start') }),
  z.object({ step: z.enum(['end', 'fail']) }),
]);

test.each<[unknown, string]>([
  [{ step: 'foo' }, 'step: must be "start", "end" or "fail"'],
  [{ step: 5 }, 'step: must be "start", "end" or "fail"'],
  [{}, 'step: is required'],
])('%j is rejected with the kinds that there are: %s', (value, words) => {
  expect(() => validate(step, value, 'body')).toThrow(words);
});

test('a query parameter that is given twice is said to be', () => {
  const query = z.strictObject({
    task_id: z.string('is required'),
    state: z.enum(['a', 'b']).optional(),
    limit: z.string().regex(/^\d+$/, 'must be a number').optional(),
  });
  for (const [name, value] of Object.entries({ task_id: 'x', state: 'a', limit: '1' })) {
    expect(() => validate(query, { task_id: 'x', [name]: [value, value] }, 'query')).toThrow(
      `${name}: is given more than once`,
    );
  }
});

describe('in steps', () => {
  const body = z
    .looseObject({
      messages: z
        .array(
          z
            .looseObject({
              role: z.string().default('user'),
              n: z.int().max(1_000),
              parts: z.union([z.string(), z.array(z.looseObject({ n: z.int() }))]).nullish(),
            })
            .refine(({ role }) => role !== 'nobody', { path: ['role'], message: 'must be somebody' }),
        )
        .min(1)
        .max(300),
      title: z.string().max(5).optional(),
    })
    .refine(({ title }) => title !== 'no', { path: ['title'], message: 'must not be no' });
  const messages = (count: number) => Array.from({ length: count }, (_, n) => ({ n, extra: true }));

  const parts = (count: number) => Array.from({ length: count }, (_, n) => ({ n, more: n }));
  const inSteps = (value: unknown) => atOnce(validateInSteps(body, value));

  test.each([1, 64, 65, 300])('%d items give the same result as without steps', (count) => {
    const value = { messages: messages(count), title: 'x', more: 1 };
    expect(inSteps(value)).toEqual(validate(body, value, 'body'));
  });

  test('lists in items give the same result as without steps', () => {
    const lengths = [0, 1, 30, 64, 65, 100, 2];
    const value = {
      messages: messages(150).map((one, n) => ({ ...one, parts: parts(lengths[n % 7] ?? 0) })),
    };
    expect(inSteps(value)).toEqual(validate(body, value, 'body'));
  });

  test.each([
    { messages: [...messages(200), { n: 0.5 }] },
    { messages: [...messages(200), {}] },
    { messages: [...messages(2), { n: 2, parts: [...parts(99), { n: 'x' }] }] },
    { messages: [...messages(2), { n: 2, parts: parts(100), role: 'nobody' }] },
    { messages: [...messages(70), { n: 2, parts: 5 }] },
    { messages: messages(301) },
    { messages: messages(100), title: 'too long' },
    { messages: messages(100), title: 'no' },
    { messages: [] },
    {},
    [],
  ])('rejects with the same message as without steps', (value) => {
    let words = '';
    try {
      validate(body, value, 'body');
    } catch (error) {
      words = (error as Error).message;
    }
    expect(words).not.toBe('');
    expect(() => inSteps(value)).toThrow(words);
  });
});

import { z } from 'zod';
import { validate } from './validate.ts';

const schema = z.object({
  model: z.string().min(1).max(5),
  role: z.enum(['user', 'system']).default('user'),
  content: z.union([z.string(), z.array(z.object({ text: z.string() }))]).optional(),
  n: z.literal(1, { error: 'only one answer per call is offered' }).optional(),
  heat: z.int().max(2).optional(),
  list: z.array(z.string()).min(1).optional(),
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
  [{ model: 'a', n: 2 }, 'n: only one answer per call is offered'],
  [{ model: 'a', heat: 3 }, 'heat: must be at most 2'],
  [{ model: 'a', heat: 0.5 }, 'heat: must be an integer'],
  [{ model: 'a', list: [] }, 'list: must have at least 1 item'],
  [{ model: 'a', at: 'noon' }, 'at: must be a time such as 2026-01-31T00:00:00Z'],
  [[], 'body: must be an object'],
])('%j is refused with words that help: %s', (value, words) => {
  expect(() => validate(schema, value, 'body')).toThrow(words);
});

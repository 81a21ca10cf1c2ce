import { z } from 'zod';
import { pageQuery } from '../http/answers/page.ts';
import { answerOf, listOf } from '../http/input/wire-shapes.ts';
import { TASK_RESOURCE } from './native-task.presenter.ts';
import { TASK_STATES } from './task-state.ts';

const UNIX_SECONDS = /^\d{9,11}$/;

const TIME = z
  .string()
  .refine(
    (text) => UNIX_SECONDS.test(text) || z.iso.datetime({ offset: true }).safeParse(text).success,
    'must be RFC 3339 or unix seconds',
  )
  .transform((text) => new Date(UNIX_SECONDS.test(text) ? Number(text) * 1_000 : text))
  .meta({ type: 'string', description: 'RFC 3339 or unix seconds' });

/** Query of GET /api/v1/tasks. */
export const TASK_LIST_QUERY = z.strictObject({
  status: z
    .string()
    .max(200)
    .transform((text) => [...new Set(text.split(',').map((state) => state.trim()))])
    .pipe(z.array(z.enum(TASK_STATES)))
    .optional()
    .meta({
      type: 'string',
      description: `Only tasks in these states: a comma-separated list of ${TASK_STATES.join(', ')}`,
      examples: ['queued,generating,generated,processing'],
    }),
  model: z.string().min(1).max(200).optional().meta({ description: 'Only tasks of this model' }),
  created_after: TIME.optional().meta({
    description: 'Only tasks ordered at or after this time: RFC 3339 or unix seconds',
  }),
  created_before: TIME.optional().meta({
    description: 'Only tasks ordered before this time: RFC 3339 or unix seconds',
  }),
  kind: z.enum(['image', 'video']).optional().meta({ description: 'Only tasks that make this' }),
  api_key_hash: z.string().min(1).max(200).optional().meta({ description: 'Only tasks of this key' }),
  ...pageQuery,
});
export type TaskListQuery = z.output<typeof TASK_LIST_QUERY>;

export const TASK_PARAMS = z.object({
  id: z
    .string()
    .min(1)
    .max(200)
    .meta({ description: 'Id of the task, gen-…; its generation has the same id' }),
});

/** Query of GET /api/v1/tasks/{id}/content. */
export const TASK_CONTENT_QUERY = z.strictObject({
  index: z
    .string()
    .regex(/^\d{1,2}$/, 'must be an integer from 0 to 99')
    .transform(Number)
    .default(0)
    .meta({
      type: 'integer',
      minimum: 0,
      maximum: 99,
      description: 'Index of the output, from 0',
    }),
  variant: z
    .enum(['original', 'thumbnail', 'poster'])
    .default('original')
    .meta({ description: 'The file itself, its thumbnail, or a frame of the video' }),
});
export type TaskContentQuery = z.output<typeof TASK_CONTENT_QUERY>;

export const TASK_RESPONSE = answerOf(TASK_RESOURCE, 'The current state of the task');
export const TASK_LIST_RESPONSE = listOf(TASK_RESOURCE, 'Tasks, newest first');
export const TASK_CANCEL_RESPONSE = answerOf(
  z.object({
    id: z.string().meta({ description: 'Id of the task, gen-…; its generation has the same id' }),
    status: z
      .enum(['canceled', 'cancel_requested'])
      .meta({ description: 'canceled: it has ended; cancel_requested: its engine was asked to stop' }),
  }),
  'The result of the cancel',
);
export const TASK_DELETE_RESPONSE = answerOf(
  z.object({
    id: z.string().meta({ description: 'Id of the task, gen-…; its generation has the same id' }),
    deleted: z.literal(true).meta({ description: 'Its files are gone; the generation and its charge stay' }),
  }),
  'The deleted task',
);

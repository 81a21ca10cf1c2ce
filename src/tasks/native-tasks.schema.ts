import { z } from 'zod';
import { pageQuery } from '../http/page.ts';
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
  status: z.enum(TASK_STATES).optional(),
  model: z.string().min(1).max(200).optional(),
  created_after: TIME.optional(),
  ...pageQuery,
});
export type TaskListQuery = z.output<typeof TASK_LIST_QUERY>;

export const TASK_PARAMS = z.object({ id: z.string().min(1).max(200) });

/** Query of GET /api/v1/tasks/{id}/content. */
export const TASK_CONTENT_QUERY = z.strictObject({
  index: z
    .string()
    .regex(/^\d{1,2}$/, 'must be an integer from 0 to 99')
    .transform(Number)
    .default(0)
    .meta({ type: 'integer', minimum: 0, maximum: 99 }),
  variant: z.enum(['original', 'thumbnail', 'poster']).default('original'),
});
export type TaskContentQuery = z.output<typeof TASK_CONTENT_QUERY>;

export const TASK_RESPONSE = z.object({ data: TASK_RESOURCE });
export const TASK_LIST_RESPONSE = z.object({ data: z.array(TASK_RESOURCE) });
export const TASK_CANCEL_RESPONSE = z.object({
  data: z.object({ id: z.string(), status: z.enum(['canceled', 'cancel_requested']) }),
});
export const TASK_DELETE_RESPONSE = z.object({
  data: z.object({ id: z.string(), deleted: z.literal(true) }),
});

import { z } from 'zod';
import { pageQuery } from '../http/page.ts';
import { CURRENCY, usdString } from '../http/wire-shapes.ts';
import { TASK_STATES } from '../tasks/task-state.ts';

const time = z.iso.datetime();
const said = z
  .string()
  .nullable()
  .meta({ description: 'What the upstream said of its failure, without keys and prompts' });

export const operatorTaskParams = z.object({ id: z.string().min(1).max(64) });

export const listOperatorTasksQuery = z.strictObject({
  state: z.enum(TASK_STATES).optional(),
  account_id: z.string().min(1).max(64).optional(),
  ...pageQuery,
});

const taskMembers = {
  id: z.string(),
  account_id: z.string(),
  api_key_hash: z.string(),
  request_id: z.string().nullable().meta({ description: 'Request that submitted it' }),
  endpoint: z.string(),
  model: z.string(),
  kind: z.enum(['image', 'video']),
  pool: z.string().meta({ description: 'Engine pool whose queue it waits in' }),
  state: z.enum(TASK_STATES),
  seed: z.string(),
  progress_percent: z.int(),
  attempts: z.int().meta({
    description: 'How often it was claimed, for generation or post-processing; the number is the fence',
  }),
  generation_runs: z
    .int()
    .meta({ description: 'How often its generation was begun: the attempts that its customer sees' }),
  failures: z.int(),
  interruptions: z.int().meta({ description: 'Runs that an engine or a host broke off by going away' }),
  dispatches: z.int().meta({ description: 'How often it was handed to its queue' }),
  worker: z.string().nullable(),
  engine: z.string().nullable(),
  engine_reference: z.string().nullable(),
  price: usdString.meta({ description: 'Agreed at submit; charged on success only' }),
  held: usdString,
  charged: usdString,
  provider_cost: usdString.nullable().meta({ description: 'What the engine bills us, where it says so' }),
  currency: z.literal(CURRENCY),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  retryable: z.boolean().meta({ description: 'Failed, and what was ordered is still known' }),
  queue_wait_ms: z.int().nullable().meta({ description: 'From submit to the first claim' }),
  run_ms: z.int().nullable().meta({ description: 'From the first claim to the end' }),
  created_at: time,
  started_at: time.nullable(),
  completed_at: time.nullable(),
  deadline_at: time,
  not_before: time,
  dispatched_at: time.nullable(),
  lease_until: time.nullable(),
  cancel_requested_at: time.nullable(),
};

export const operatorTaskJson = z.object(taskMembers).meta({ id: 'OperatorTask' });

export const operatorTaskDetailsJson = z
  .object({
    ...taskMembers,
    runs: z
      .array(
        z.object({
          engine: z.string(),
          model: z.string(),
          outcome: z.string(),
          latency_ms: z.int(),
          said,
        }),
      )
      .meta({ description: 'The run that ended it' }),
    history: z.array(
      z.object({ at: time, state: z.string(), attempt: z.int(), detail: z.string().nullable(), said }),
    ),
    retry_of: z.string().nullable(),
    retried_as: z.string().nullable(),
  })
  .meta({ id: 'OperatorTaskDetails' });

const requestId = z.string();
export const operatorTaskListResponse = z.strictObject({
  data: z.array(operatorTaskJson),
  request_id: requestId,
});
export const operatorTaskResponse = z.strictObject({ data: operatorTaskDetailsJson, request_id: requestId });
export const retryTaskResponse = z.strictObject({
  data: z.object({
    id: z.string().meta({ description: 'The new task' }),
    retry_of: z.string(),
    created: z.boolean().meta({ description: 'False when the task had been retried before' }),
  }),
  request_id: requestId,
});

export type ListOperatorTasksQuery = z.output<typeof listOperatorTasksQuery>;
export type OperatorTaskJson = z.output<typeof operatorTaskJson>;
export type OperatorTaskDetailsJson = z.output<typeof operatorTaskDetailsJson>;

import { z } from 'zod';
import { pageQuery } from '../http/answers/page.ts';
import {
  accountId,
  answerOf,
  apiKeyHash,
  currencyJson,
  endpointPath,
  failure,
  listOf,
  modelId,
  usdString,
} from '../http/input/wire-shapes.ts';
import { TASK_STATES } from '../tasks/task-state.ts';

const time = z.iso.datetime();
const said = z
  .string()
  .nullable()
  .meta({ description: "The upstream's message about the failure, without keys or prompts" });

export const operatorTaskParams = z.object({
  id: z.string().min(1).max(64).meta({ description: 'Id of the task, gen-…' }),
});

export const listOperatorTasksQuery = z.strictObject({
  state: z.enum(TASK_STATES).optional().meta({ description: 'Only tasks in this state' }),
  account_id: z.string().min(1).max(64).optional().meta({ description: 'Only tasks of this account' }),
  ...pageQuery,
});

const taskMembers = {
  id: z.string().meta({ description: 'Id of the task, gen-…' }),
  account_id: accountId,
  api_key_hash: apiKeyHash,
  request_id: z.string().nullable().meta({ description: 'Request that submitted it' }),
  endpoint: endpointPath,
  model: modelId,
  kind: z.enum(['image', 'video']).meta({ description: 'Kind of output' }),
  pool: z.string().meta({ description: 'Engine pool whose queue it waits in' }),
  state: z.enum(TASK_STATES).meta({
    description:
      'In generating and processing a worker holds the lease; generated waits for processing; succeeded, failed and canceled are final',
  }),
  seed: z.string().meta({ description: 'The seed, as a string of digits' }),
  progress_percent: z.int().meta({ description: '0 to 100, as last reported by the engine' }),
  attempts: z.int().meta({
    description:
      'How often it was claimed, for generation or post-processing; the number serves as the fence',
  }),
  generation_runs: z
    .int()
    .meta({ description: 'How often its generation was started: the attempts that the customer sees' }),
  failures: z.int().meta({ description: 'Failed runs; the fifth one ends the task' }),
  interruptions: z.int().meta({ description: 'Runs interrupted because an engine or host went away' }),
  dispatches: z.int().meta({ description: 'How often it was dispatched to its queue' }),
  worker: z.string().nullable().meta({ description: 'Process that holds its lease; null if none' }),
  engine: z.string().nullable().meta({ description: 'Engine that runs it, or ran it last' }),
  engine_reference: z.string().nullable().meta({ description: "The engine's id of the run, if it has one" }),
  price: usdString.meta({ description: 'Price agreed on submit; charged only on success' }),
  held: usdString.meta({ description: 'Currently held for it, USD; 0 once it has ended' }),
  charged: usdString.meta({ description: 'Charged, USD; 0 unless it succeeded' }),
  provider_cost: usdString
    .nullable()
    .meta({ description: 'What its engines bill you, if they report it, including failed runs' }),
  currency: currencyJson,
  error: failure,
  retryable: z
    .boolean()
    .meta({ description: 'Whether it can be retried: it failed, and its order is still stored' }),
  queue_wait_ms: z.int().nullable().meta({ description: 'Time from submit to the first claim' }),
  run_ms: z.int().nullable().meta({ description: 'Time from the first claim to the end' }),
  created_at: time.meta({ description: 'When it was ordered' }),
  started_at: time.nullable().meta({ description: 'When it was first claimed; null until then' }),
  completed_at: time.nullable().meta({ description: 'When it ended; null until then' }),
  deadline_at: time.meta({ description: 'Deadline: it fails if it has not ended by then' }),
  not_before: time.meta({ description: 'Earliest time of its next run' }),
  dispatched_at: time
    .nullable()
    .meta({ description: 'When it was last dispatched to its queue; null until then' }),
  lease_until: time
    .nullable()
    .meta({ description: 'When its lease expires unless the worker renews it; null if no worker holds it' }),
  cancel_requested_at: time
    .nullable()
    .meta({ description: 'When cancellation was requested; null if never' }),
};

export const operatorTaskJson = z.object(taskMembers).meta({ id: 'OperatorTask' });

export const operatorTaskDetailsJson = z
  .object({
    ...taskMembers,
    runs: z
      .array(
        z.object({
          engine: z.string().meta({ description: 'Id of the engine, as under `engines`' }),
          model: z.string().meta({ description: "The engine's name for the model" }),
          outcome: z.string().meta({ description: 'ok, or why it failed' }),
          latency_ms: z.int().meta({ description: 'Duration' }),
          cost: usdString
            .nullable()
            .meta({ description: 'What it costs; null if the engine does not report it' }),
          said,
        }),
      )
      .meta({ description: 'Failed runs that were billed, followed by the run that ended the task' }),
    history: z
      .array(
        z.object({
          at: time.meta({ description: 'When' }),
          state: z.string().meta({ description: 'The state it reached' }),
          attempt: z.int().meta({ description: 'Number of the claim' }),
          detail: z.string().nullable().meta({ description: 'Reason; null if there is nothing to add' }),
          said,
          cost: usdString
            .nullable()
            .meta({ description: 'Cost of a failed run; null if nothing or unknown' }),
        }),
      )
      .meta({ description: 'State changes, oldest first' }),
    retry_of: z.string().nullable().meta({ description: 'The task that this one retries; null if none' }),
    retried_as: z.string().nullable().meta({ description: 'The task that retries this one; null if none' }),
  })
  .meta({ id: 'OperatorTaskDetails' });

export const operatorTaskListResponse = listOf(operatorTaskJson, 'Tasks, newest first');
export const operatorTaskResponse = answerOf(operatorTaskDetailsJson, 'The task with its history');
export const retryTaskResponse = answerOf(
  z.object({
    id: z.string().meta({ description: 'The new task' }),
    retry_of: z.string().meta({ description: 'The failed task' }),
    created: z.boolean().meta({ description: 'false if the task had already been retried' }),
  }),
  'The retry',
);

export type ListOperatorTasksQuery = z.output<typeof listOperatorTasksQuery>;
export type OperatorTaskJson = z.output<typeof operatorTaskJson>;
export type OperatorTaskDetailsJson = z.output<typeof operatorTaskDetailsJson>;

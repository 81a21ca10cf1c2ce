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
  .meta({ description: 'What the upstream said about the failure, without keys and prompts' });

export const operatorTaskParams = z.object({
  id: z.string().min(1).max(64).meta({ description: 'Id of the task, gen-…' }),
});

export const listOperatorTasksQuery = z.strictObject({
  state: z.enum(TASK_STATES).optional().meta({ description: 'Only tasks in this state' }),
  account_id: z.string().min(1).max(64).optional().meta({ description: 'Only those of this account' }),
  ...pageQuery,
});

const taskMembers = {
  id: z.string().meta({ description: 'Id of the task, gen-…' }),
  account_id: accountId,
  api_key_hash: apiKeyHash,
  request_id: z.string().nullable().meta({ description: 'Request that submitted it' }),
  endpoint: endpointPath,
  model: modelId,
  kind: z.enum(['image', 'video']).meta({ description: 'What is made' }),
  pool: z.string().meta({ description: 'Engine pool whose queue it waits in' }),
  state: z.enum(TASK_STATES).meta({
    description:
      'generating and processing are at work under a lease, generated waits for processing; succeeded, failed and canceled are ends',
  }),
  seed: z.string().meta({ description: 'The seed in use; a string of digits' }),
  progress_percent: z.int().meta({ description: '0 to 100, as the engine said last' }),
  attempts: z.int().meta({
    description: 'How often it was claimed, for generation or post-processing; the number is the fence',
  }),
  generation_runs: z
    .int()
    .meta({ description: 'How often its generation was begun: the attempts that its customer sees' }),
  failures: z.int().meta({ description: 'Runs that failed; the fifth ends the task' }),
  interruptions: z.int().meta({ description: 'Runs that were cut off because an engine or host went away' }),
  dispatches: z.int().meta({ description: 'How often it was handed to its queue' }),
  worker: z.string().nullable().meta({ description: 'Process that holds its lease; null: none' }),
  engine: z.string().nullable().meta({ description: 'Engine that runs it, or ran it last' }),
  engine_reference: z
    .string()
    .nullable()
    .meta({ description: "The engine's own id of the run, where it has one" }),
  price: usdString.meta({ description: 'Agreed at submit; charged on success only' }),
  held: usdString.meta({ description: 'Held for it now, USD; 0 once it ended' }),
  charged: usdString.meta({ description: 'USD; 0 unless it succeeded' }),
  provider_cost: usdString
    .nullable()
    .meta({ description: 'What its engines bill us, where they say so, runs that failed included' }),
  currency: currencyJson,
  error: failure,
  retryable: z.boolean().meta({ description: 'Failed, and what was ordered is still known' }),
  queue_wait_ms: z.int().nullable().meta({ description: 'From submit to the first claim' }),
  run_ms: z.int().nullable().meta({ description: 'From the first claim to the end' }),
  created_at: time.meta({ description: 'When it was ordered' }),
  started_at: time.nullable().meta({ description: 'When it was first claimed; null until then' }),
  completed_at: time.nullable().meta({ description: 'When it ended; null until then' }),
  deadline_at: time.meta({ description: 'When it fails if it has not ended by then' }),
  not_before: time.meta({ description: 'Earliest time of its next run' }),
  dispatched_at: time
    .nullable()
    .meta({ description: 'When it was last handed to its queue; null until then' }),
  lease_until: time
    .nullable()
    .meta({ description: 'Until when its worker owns it unless it renews; null: no worker owns it' }),
  cancel_requested_at: time.nullable().meta({ description: 'When a cancel was asked for; null: never' }),
};

export const operatorTaskJson = z.object(taskMembers).meta({ id: 'OperatorTask' });

export const operatorTaskDetailsJson = z
  .object({
    ...taskMembers,
    runs: z
      .array(
        z.object({
          engine: z.string().meta({ description: 'Name of the engine, as in engines:' }),
          model: z.string().meta({ description: 'What the engine calls the model' }),
          outcome: z.string().meta({ description: 'ok, or why it failed' }),
          latency_ms: z.int().meta({ description: 'How long it took' }),
          cost: usdString
            .nullable()
            .meta({ description: 'What it is billed at; null: the engine does not say' }),
          said,
        }),
      )
      .meta({ description: 'The run that ended it, after those that failed and were billed' }),
    history: z
      .array(
        z.object({
          at: time.meta({ description: 'When' }),
          state: z.string().meta({ description: 'State that it reached' }),
          attempt: z.int().meta({ description: 'Number of the claim' }),
          detail: z.string().nullable().meta({ description: 'Why; null where there is nothing to add' }),
          said,
          cost: usdString
            .nullable()
            .meta({ description: 'What a run that failed is billed at; null: nothing, or unknown' }),
        }),
      )
      .meta({ description: 'Its changes of state, oldest first' }),
    retry_of: z.string().nullable().meta({ description: 'Task that this one repeats; null: none' }),
    retried_as: z.string().nullable().meta({ description: 'Task that repeats this one; null: none' }),
  })
  .meta({ id: 'OperatorTaskDetails' });

export const operatorTaskListResponse = listOf(operatorTaskJson, 'Tasks, newest first');
export const operatorTaskResponse = answerOf(operatorTaskDetailsJson, 'The task with its history');
export const retryTaskResponse = answerOf(
  z.object({
    id: z.string().meta({ description: 'The new task' }),
    retry_of: z.string().meta({ description: 'The failed task' }),
    created: z.boolean().meta({ description: 'False when the task had been retried before' }),
  }),
  'The retry',
);

export type ListOperatorTasksQuery = z.output<typeof listOperatorTasksQuery>;
export type OperatorTaskJson = z.output<typeof operatorTaskJson>;
export type OperatorTaskDetailsJson = z.output<typeof operatorTaskDetailsJson>;

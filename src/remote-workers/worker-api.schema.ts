import { z } from 'zod';
import { storableText } from '../http/input/storable-text.ts';
import { answerOf } from '../http/input/wire-shapes.ts';
import { UPLOAD_PART_BYTES } from './upload-part.ts';

const MS_MAX = 7 * 24 * 3_600_000;
const LEASES_MAX = 1_000;
const QUEUE_POSITION_MAX = 1_000_000;
const OUTPUTS_MAX = 16;
const LOADED_MAX = 1_000;
const MODEL_LENGTH_MAX = 500;
export const CLAIM_WAIT_SECONDS_MAX = 30;

const ms = z.int().min(0).max(MS_MAX);
const pool = z
  .string()
  .min(1)
  .max(100)
  .meta({ description: 'Pool, named after its engine in tollgate.yaml' });
const workerName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}\.\d{1,10}$/, 'must be <host>.<process id>')
  .meta({ description: 'Worker that calls, <host>.<process id>; the name of its token is put before it' });
const taskId = z.string().min(1).max(200).meta({ description: 'Id of the task, gen-…' });
const attempt = z.int().min(1).max(1_000_000).meta({ description: 'Attempt of the task, as it was claimed' });
const said = storableText
  .max(4_096)
  .optional()
  .meta({ description: "The upstream's words, without keys and prompts, for operators" });

export const claimBody = z
  .strictObject({
    worker: workerName,
    pool,
    wait_seconds: z
      .number()
      .min(0)
      .max(CLAIM_WAIT_SECONDS_MAX)
      .default(0)
      .meta({ description: 'Seconds to wait for a task' }),
    loaded: z
      .array(z.string().min(1).max(MODEL_LENGTH_MAX))
      .max(LOADED_MAX)
      .optional()
      .meta({ description: "The engine's names of models that it has loaded: their tasks are preferred" }),
  })
  .meta({ id: 'ClaimTask' });

const policy = z.strictObject({
  attempts: z.int().meta({ description: 'Failed runs after which the task fails' }),
  backoff_ms: z.int().meta({ description: 'Ms before the second run' }),
  backoff_max_ms: z.int().meta({ description: 'The longest pause between runs, ms' }),
  timeout_ms: z.int().meta({ description: 'Ms that one run may take' }),
});

const order = z.strictObject({
  prompt: z.string().meta({ description: 'What to make' }),
  width: z.int().meta({ description: 'Pixels' }),
  height: z.int().meta({ description: 'Pixels' }),
  steps: z.int().optional().meta({ description: 'Denoising steps' }),
  seconds: z.int().optional().meta({ description: 'Length of a video' }),
  upstream_model: z.string().meta({ description: "The engine's name for the model" }),
});

export const claimedTaskJson = z
  .strictObject({
    task_id: taskId,
    attempt,
    pool,
    kind: z.enum(['image', 'video']).meta({ description: 'What to make' }),
    customer: z.string().meta({ description: 'Stands for the customer; the same for all of their tasks' }),
    failures: z.int().meta({ description: 'Runs that failed' }),
    interruptions: z.int().meta({ description: 'Runs that an engine broke off by going away' }),
    last_failure: z.string().nullable().meta({ description: 'Why it came back last' }),
    order: order.meta({ description: 'What to make' }),
    extra: z
      .record(z.string(), z.unknown())
      .optional()
      .meta({ description: "What the model's route adds to the order" }),
    seed: z.string().meta({ description: 'Seed, a decimal integer' }),
    submitted_at: z.iso
      .datetime()
      .nullable()
      .meta({ description: 'When an earlier attempt gave it to the engine' }),
    reference: z.string().nullable().meta({ description: "The engine's id of that run" }),
    deadline_ms: z.number().meta({ description: 'Ms until the task fails, whatever happens' }),
    policy: policy.meta({ description: 'How its runs are tried' }),
  })
  .meta({ id: 'ClaimedTask' });
export type ClaimedTaskJson = z.output<typeof claimedTaskJson>;

export const claimResponse = answerOf(
  z.strictObject({ task: claimedTaskJson.nullable().meta({ description: 'The task; null: none came' }) }),
  'What to do',
);

export const leasesBody = z
  .strictObject({
    worker: workerName,
    leases: z
      .array(
        z.strictObject({
          task_id: taskId,
          attempt,
          progress: z.number().min(0).max(1).meta({ description: 'Share of the work that is done' }),
          queue_position: z
            .int()
            .min(1)
            .max(QUEUE_POSITION_MAX)
            .nullish()
            .meta({ description: "Place in the engine's own queue, from 1; null: it does not wait there" }),
        }),
      )
      .min(1)
      .max(LEASES_MAX)
      .meta({ description: 'Tasks that the worker runs' }),
  })
  .meta({ id: 'RenewLeases' });

export const leasesResponse = answerOf(
  z.array(
    z.strictObject({
      task_id: taskId,
      attempt,
      canceled: z.boolean().meta({ description: 'Its customer wants it no more' }),
    }),
  ),
  'Those that the worker still holds; the others are no longer its own',
);

export const reportBody = z
  .strictObject({
    worker: workerName,
    slots: z
      .record(z.string().min(1).max(100), z.int().min(0).max(1_000))
      .meta({ description: 'Runs at once now, by pool; empty: the worker leaves' }),
    away: z.array(pool).max(1_000).meta({
      description: 'Pools that it takes no tasks for: their engine is away from it, or misconfigured',
    }),
    misconfigured: z
      .array(pool)
      .max(1_000)
      .default([])
      .meta({ description: 'Those of them whose engine refuses every run until an operator mends it' }),
    running: z.int().min(0).max(100_000).meta({ description: 'Tasks it has claimed' }),
    draining: z.enum(['operator', 'notice']).nullable().meta({ description: 'Why it takes no work' }),
    leaving: z.boolean().default(false).meta({ description: 'The process ends' }),
  })
  .meta({ id: 'ReportWorker' });

export const reportResponse = answerOf(
  z.strictObject({ drained: z.boolean().meta({ description: 'An operator has drained its host' }) }),
  'What operators want of it',
);

const about = { worker: workerName, task_id: taskId, attempt };
const code = z.string().regex(/^[a-z][a-z0-9_]{0,63}$/, 'must be a code in snake_case');
const count = z.union([z.literal(0), z.literal(1)]);
const outputIndex = z
  .int()
  .min(0)
  .max(OUTPUTS_MAX - 1);

function stepOf<Name extends string>(name: Name, description: string) {
  return z.literal(name).meta({ description });
}

export const stepBody = z
  .discriminatedUnion('step', [
    z.strictObject({ ...about, step: stepOf('submitting', 'Before an order that costs money') }),
    z.strictObject({
      ...about,
      step: stepOf('submitted', 'The engine has it'),
      reference: storableText.min(1).max(2_048).meta({ description: "The engine's id of the run" }),
    }),
    z.strictObject({
      ...about,
      step: stepOf('generated', 'Its files are uploaded'),
      outputs: z.array(outputIndex).min(1).max(OUTPUTS_MAX).meta({ description: 'Which files' }),
      latency_ms: ms.meta({ description: 'Ms that the run took' }),
      algorithmic: z.boolean().default(false).meta({ description: 'Drawn by rules, not by a trained model' }),
    }),
    z.strictObject({
      ...about,
      step: stepOf('returned', 'It goes back for another attempt'),
      reason: code.meta({ description: 'Why, a code' }),
      failures: count.meta({ description: '1: the run counts as failed' }),
      interruptions: count.default(0).meta({ description: '1: the engine broke it off by going away' }),
      uncounted: z.boolean().default(false).meta({ description: 'No run began' }),
      wait_ms: ms.meta({ description: 'Ms before anybody may take it again' }),
      avoid_ms: ms
        .nullable()
        .default(null)
        .meta({ description: 'Ms for which it is left to other hosts; null: none' }),
      forget_run: z.boolean().meta({ description: 'The run is over: the next attempt orders anew' }),
      said,
    }),
    z.strictObject({
      ...about,
      step: stepOf('failed', 'It ends without a charge'),
      code: code.meta({ description: 'Why, for the customer' }),
      message: storableText.max(2_000).meta({ description: 'The same in words' }),
      run: z
        .strictObject({
          outcome: code.meta({ description: 'What became of the run, a code' }),
          latency_ms: ms.meta({ description: 'Ms that it took' }),
          said,
        })
        .nullable()
        .meta({ description: 'The last run; null: there was none' }),
    }),
    z.strictObject({ ...about, step: stepOf('canceled', 'It ends as its customer wished') }),
  ])
  .meta({
    id: 'ReportStep',
    description: 'What became of a claimed task',
  });
export type StepBody = z.output<typeof stepBody>;

export const stepResponse = answerOf(
  z.strictObject({
    held: z
      .boolean()
      .meta({ description: 'false: the task is no longer this worker’s, nothing was written' }),
  }),
  'Whether it was written',
);

const outputQuery = {
  worker: workerName,
  task_id: taskId,
  attempt: z.coerce.number().pipe(z.int().min(1).max(1_000_000)).meta({ description: 'Attempt of the task' }),
  index: z.coerce
    .number()
    .pipe(
      z
        .int()
        .min(0)
        .max(OUTPUTS_MAX - 1),
    )
    .meta({ description: 'Which file of the task' }),
};
export const outputStateQuery = z.strictObject(outputQuery);
export const outputPartQuery = z.strictObject({
  ...outputQuery,
  offset: z.coerce
    .number()
    .pipe(z.int().min(0).multipleOf(UPLOAD_PART_BYTES))
    .meta({ description: 'Where the part begins; parts follow each other' }),
  bytes: z.coerce.number().pipe(z.int().min(1)).meta({ description: 'Size of the whole file' }),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in lower-case hex')
    .meta({ description: 'SHA-256 of the whole file, lower-case hex' }),
});

export const outputResponse = answerOf(
  z.strictObject({
    held: z.boolean().meta({ description: 'false: the task is no longer this worker’s, nothing was stored' }),
    offset: z.int().meta({ description: 'Bytes that are there: where the next part begins' }),
    complete: z.boolean().meta({ description: 'The whole file is there' }),
  }),
  'How much of the file is there',
);

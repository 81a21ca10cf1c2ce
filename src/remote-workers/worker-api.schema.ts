import { z } from 'zod';
import { answerOf, storableText } from '../http/input/wire-shapes.ts';
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
  .meta({
    description: 'Name of the calling worker, <host>.<process id>; the name of its token is prepended',
  });
const taskId = z.string().min(1).max(200).meta({ description: 'Id of the task, gen-…' });
const attempt = z
  .int()
  .min(1)
  .max(1_000_000)
  .meta({ description: 'Attempt of the task, as returned by the claim' });
const said = storableText
  .max(4_096)
  .optional()
  .meta({ description: "The upstream's message for operators, without keys and prompts" });

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
    loaded: z.array(z.string().min(1).max(MODEL_LENGTH_MAX)).max(LOADED_MAX).optional().meta({
      description: "Models that the engine has loaded, by the engine's names; their tasks are preferred",
    }),
  })
  .meta({ id: 'ClaimTask' });

const policy = z.strictObject({
  attempts: z.int().meta({ description: 'Number of failed runs after which the task fails' }),
  backoff_ms: z.int().meta({ description: 'Wait before the second run, in ms' }),
  backoff_max_ms: z.int().meta({ description: 'Maximum wait between runs, in ms' }),
  timeout_ms: z.int().meta({ description: 'Maximum duration of one run, in ms' }),
});

const order = z.strictObject({
  prompt: z.string().meta({ description: 'What to generate' }),
  width: z.int().meta({ description: 'Width in pixels' }),
  height: z.int().meta({ description: 'Height in pixels' }),
  steps: z.int().optional().meta({ description: 'Denoising steps' }),
  seconds: z.int().optional().meta({ description: 'Length of a video in seconds' }),
  upstream_model: z.string().meta({ description: "The engine's name for the model" }),
});

export const claimedTaskJson = z
  .strictObject({
    task_id: taskId,
    attempt,
    pool,
    kind: z.enum(['image', 'video']).meta({ description: 'Kind of output' }),
    customer: z.string().meta({ description: 'Pseudonym of the customer; the same for all their tasks' }),
    failures: z.int().meta({ description: 'Number of runs that failed' }),
    interruptions: z.int().meta({ description: 'Number of runs interrupted because the engine went away' }),
    ended_runs: z.int().meta({ description: 'Number of runs that the engine accepted and that are over' }),
    last_failure: z.string().nullable().meta({ description: 'Why the task was last returned' }),
    order: order.meta({ description: 'What to generate' }),
    extra: z
      .record(z.string(), z.unknown())
      .optional()
      .meta({ description: "Members that the model's route adds to the request" }),
    seed: z.string().meta({ description: 'Seed, as a decimal integer' }),
    submitted_at: z.iso
      .datetime()
      .nullable()
      .meta({ description: 'When an earlier attempt submitted it to the engine' }),
    reference: z.string().nullable().meta({ description: "The engine's id of that run" }),
    deadline_ms: z.number().meta({ description: 'Ms until the deadline, when the task fails in any case' }),
    policy: policy.meta({ description: 'How runs are retried' }),
  })
  .meta({ id: 'ClaimedTask' });
export type ClaimedTaskJson = z.output<typeof claimedTaskJson>;

export const claimResponse = answerOf(
  z.strictObject({
    task: claimedTaskJson.nullable().meta({ description: 'The task; null when none came in time' }),
  }),
  'The claimed task',
);

export const leasesBody = z
  .strictObject({
    worker: workerName,
    leases: z
      .array(
        z.strictObject({
          task_id: taskId,
          attempt,
          progress: z.number().min(0).max(1).meta({ description: 'Share of the work done, 0 to 1' }),
          queue_position: z.int().min(1).max(QUEUE_POSITION_MAX).nullish().meta({
            description: "Position in the engine's own queue, from 1; null when it does not wait there",
          }),
        }),
      )
      .min(1)
      .max(LEASES_MAX)
      .meta({ description: 'Tasks that the worker is running' }),
  })
  .meta({ id: 'RenewLeases' });

export const leasesResponse = answerOf(
  z.array(
    z.strictObject({
      task_id: taskId,
      attempt,
      canceled: z.boolean().meta({ description: 'Whether the customer has canceled it' }),
    }),
  ),
  'The tasks that the worker still holds; it has lost the others',
);

export const reportBody = z
  .strictObject({
    worker: workerName,
    slots: z.record(z.string().min(1).max(100), z.int().min(0).max(1_000)).meta({
      description: 'Concurrent runs that the worker can take now, by pool; empty when it is leaving',
    }),
    away: z.array(pool).max(1_000).meta({
      description: 'Pools that the worker takes no tasks for, because their engine is away or misconfigured',
    }),
    misconfigured: z
      .array(pool)
      .max(1_000)
      .default([])
      .meta({ description: 'Those of the pools whose engine rejects every run until an operator fixes it' }),
    running: z.int().min(0).max(100_000).meta({ description: 'Number of tasks that it has claimed' }),
    draining: z
      .enum(['operator', 'notice'])
      .nullable()
      .meta({ description: 'Why the worker takes no more work; null when it does' }),
    leaving: z.boolean().default(false).meta({ description: 'Whether the process is exiting' }),
  })
  .meta({ id: 'ReportWorker' });

export const reportResponse = answerOf(
  z.strictObject({ drained: z.boolean().meta({ description: 'Whether an operator has drained its host' }) }),
  'Instructions from operators',
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
    z.strictObject({ ...about, step: stepOf('submitting', 'Sent before a request that costs money') }),
    z.strictObject({
      ...about,
      step: stepOf('submitted', 'The engine has accepted the task'),
      reference: storableText.min(1).max(2_048).meta({ description: "The engine's id of the run" }),
    }),
    z.strictObject({
      ...about,
      step: stepOf('generated', 'All files have been uploaded'),
      outputs: z.array(outputIndex).min(1).max(OUTPUTS_MAX).meta({ description: 'Indexes of the files' }),
      latency_ms: ms.meta({ description: 'Duration of the run, in ms' }),
      algorithmic: z
        .boolean()
        .default(false)
        .meta({ description: 'Whether it was drawn by rules rather than by a trained model' }),
    }),
    z.strictObject({
      ...about,
      step: stepOf('returned', 'The task is returned for another attempt'),
      reason: code.meta({ description: 'Why, as a code' }),
      failures: count.meta({ description: '1 when the run counts as failed' }),
      interruptions: count
        .default(0)
        .meta({ description: '1 when the run was interrupted because the engine went away' }),
      uncounted: z
        .boolean()
        .default(false)
        .meta({ description: 'Whether no run was started, so none is counted' }),
      wait_ms: ms.meta({ description: 'Ms before any worker may claim it again' }),
      avoid_ms: ms
        .nullable()
        .default(null)
        .meta({ description: 'Ms during which the task is left to other hosts; null for none' }),
      forget_run: z
        .boolean()
        .meta({ description: 'Whether the run is over, so the next attempt must submit again' }),
      said,
    }),
    z.strictObject({
      ...about,
      step: stepOf('failed', 'The task ends without a charge'),
      code: code.meta({ description: 'Why, as a code for the customer' }),
      message: storableText.max(2_000).meta({ description: 'Why, as a message for the customer' }),
      run: z
        .strictObject({
          outcome: code.meta({ description: 'Outcome of the run, as a code' }),
          latency_ms: ms.meta({ description: 'Duration of the run, in ms' }),
          said,
        })
        .nullable()
        .meta({ description: 'The last run; null when there was none' }),
    }),
    z.strictObject({ ...about, step: stepOf('canceled', 'The task ends as canceled by the customer') }),
  ])
  .meta({
    id: 'ReportStep',
    description: 'A step of a claimed task',
  });
export type StepBody = z.output<typeof stepBody>;

export const stepResponse = answerOf(
  z.strictObject({
    held: z
      .boolean()
      .meta({ description: 'false when the worker no longer holds the task; nothing was written' }),
  }),
  'Whether the step was written',
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
    .meta({ description: 'Index of the file in the task' }),
};
export const outputStateQuery = z.strictObject(outputQuery);
export const outputPartQuery = z.strictObject({
  ...outputQuery,
  offset: z.coerce
    .number()
    .pipe(z.int().min(0).multipleOf(UPLOAD_PART_BYTES))
    .meta({ description: 'Offset of the part in bytes; parts must be sent in order' }),
  bytes: z.coerce.number().pipe(z.int().min(1)).meta({ description: 'Size of the whole file in bytes' }),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in lowercase hex')
    .meta({ description: 'SHA-256 of the whole file, in lowercase hex' }),
});

export const outputResponse = answerOf(
  z.strictObject({
    held: z
      .boolean()
      .meta({ description: 'false when the worker no longer holds the task; nothing was stored' }),
    offset: z.int().meta({ description: 'Bytes stored so far, where the next part begins' }),
    complete: z.boolean().meta({ description: 'Whether the whole file is stored' }),
  }),
  'How much of the file is stored',
);

import { z } from 'zod';
import { CURRENCY, usdString } from '../http/wire-shapes.ts';
import type { TaskOutput } from '../ledger/ledger.types.ts';
import { publicId } from '../lib/ids.ts';
import { formatUsd, ZERO_USD } from '../lib/money.ts';
import type { QueueEstimate } from './queue-estimates.ts';
import { progressPercent } from './task-result.presenter.ts';
import { TASK_STATES } from './task-state.ts';
import type { TaskView } from './tasks.types.ts';

const VARIANT = z.enum(['original', 'thumbnail', 'poster']);
const TIME = z.iso.datetime();

/** A task as `/api/v1/tasks` shows it. */
export const TASK_RESOURCE = z
  .object({
    id: z.string(),
    endpoint: z.string(),
    model: z.string(),
    kind: z.enum(['image', 'video']),
    status: z.enum(TASK_STATES),
    progress_percent: z.int(),
    queue_position: z.int().nullable(),
    seed: z.string(),
    attempts: z
      .int()
      .meta({ description: 'How often its generation was begun; more than 1 after a failure' }),
    cancel_requested: z.boolean(),
    estimated_amount: usdString,
    charged_amount: usdString,
    currency: z.literal(CURRENCY),
    api_key_hash: z.string(),
    error: z.object({ code: z.string(), message: z.string() }).nullable(),
    outputs: z.array(
      z.object({
        index: z.int(),
        variant: VARIANT,
        media_type: z.string(),
        bytes: z.int(),
        width: z.int(),
        height: z.int(),
        duration_ms: z.int().nullable(),
        sha256: z.string(),
      }),
    ),
    created_at: TIME,
    started_at: TIME.nullable(),
    completed_at: TIME.nullable(),
    deadline_at: TIME,
    expires_at: TIME.nullable(),
  })
  .meta({ id: 'Task' });
export type TaskResourceJson = z.output<typeof TASK_RESOURCE>;

/** One row of the native API. Neither the prompt nor storage keys are shown. */
export function presentTask(
  task: TaskView,
  outputs: readonly TaskOutput[],
  estimate: QueueEstimate,
): TaskResourceJson {
  return {
    id: publicId('generation', task.id),
    endpoint: task.endpoint,
    model: task.model,
    kind: task.kind,
    status: task.state,
    progress_percent: progressPercent(task),
    queue_position: estimate.queuePosition,
    seed: task.seed.toString(),
    attempts: task.generationRuns,
    cancel_requested: task.cancelRequestedAt !== null,
    estimated_amount: formatUsd(task.charge),
    charged_amount: formatUsd(task.state === 'succeeded' ? task.charge : ZERO_USD),
    currency: CURRENCY,
    api_key_hash: task.apiKeyHash,
    error: task.errorCode ? { code: task.errorCode, message: task.errorMessage ?? '' } : null,
    outputs: task.mediaDeletedAt ? [] : outputs.map(presentOutput),
    created_at: task.createdAt.toISOString(),
    started_at: task.startedAt?.toISOString() ?? null,
    completed_at: task.completedAt?.toISOString() ?? null,
    deadline_at: task.deadlineAt.toISOString(),
    expires_at: task.mediaExpiresAt?.toISOString() ?? null,
  };
}

function presentOutput(output: TaskOutput): TaskResourceJson['outputs'][number] {
  return {
    index: output.index,
    variant: output.variant,
    media_type: output.mediaType,
    bytes: output.bytes,
    width: output.width,
    height: output.height,
    duration_ms: output.durationMs,
    sha256: output.sha256,
  };
}

import { z } from 'zod';
import {
  apiKeyHash,
  CURRENCY,
  currencyJson,
  endpointPath,
  failure,
  modelId,
  usdString,
} from '../http/input/wire-shapes.ts';
import type { TaskOutput } from '../ledger/ledger.types.ts';
import { publicId } from '../lib/ids.ts';
import { formatUsd, ZERO_USD } from '../lib/money.ts';
import type { QueueEstimate } from './queue-estimates.ts';
import { progressPercent } from './task-result.presenter.ts';
import { TASK_STATES } from './task-state.ts';
import type { TaskLinks, TaskView } from './tasks.types.ts';

const link = (file: string) =>
  z
    .url()
    .nullable()
    .meta({
      description: `Media link of ${file}, valid for 15 to 30 minutes; null when there is none or \`limit\` is above 100`,
    });
const VARIANT = z.enum(['original', 'thumbnail', 'poster']);
const TIME = z.iso.datetime();

/** A task as `/api/v1/tasks` shows it. */
export const TASK_RESOURCE = z
  .object({
    id: z.string().meta({ description: 'Id of the task, gen-…; its generation has the same id' }),
    endpoint: endpointPath,
    model: modelId,
    kind: z.enum(['image', 'video']).meta({ description: 'What is made' }),
    status: z.enum(TASK_STATES).meta({
      description:
        'generating and processing are in progress, generated waits for processing; succeeded, failed and canceled are final',
    }),
    progress_percent: z
      .int()
      .meta({ description: '0 to 100; never decreases, and is 100 only when it succeeded' }),
    queue_position: z
      .int()
      .nullable()
      .meta({ description: '1 = next, in this queue or inside the engine; null when it does not wait' }),
    seed: z.string().meta({
      description: 'The seed in use, even if -1 left the choice to the service; a string of digits',
    }),
    attempts: z.int().meta({ description: 'How often generating was started; more than 1 after a failure' }),
    cancel_requested: z.boolean().meta({
      description: 'Whether a cancel was requested; the engine may still complete the task or fail',
    }),
    estimated_amount: usdString.meta({
      description: 'Price fixed when it was ordered, in USD: what it costs if it succeeds',
    }),
    charged_amount: usdString.meta({ description: 'USD; 0 unless it succeeded' }),
    currency: currencyJson,
    api_key_hash: apiKeyHash,
    error: failure,
    parameters: z
      .object({
        width: z.int().nullable().meta({ description: 'Pixels' }),
        height: z.int().nullable().meta({ description: 'Pixels' }),
        steps: z.int().nullable().meta({ description: 'null when not ordered: the engine uses its default' }),
        seconds: z.int().nullable().meta({ description: 'Length of a video; null when not ordered' }),
      })
      .meta({
        description: 'What was ordered, without the prompt; null after the files of the task were deleted',
      }),
    outputs: z
      .array(
        z.object({
          index: z.int().meta({ description: 'Position among the files of this variant, from 0' }),
          variant: VARIANT.meta({
            description: 'The file itself, its thumbnail, or a frame of the video',
          }),
          media_type: z.string().meta({ description: 'MIME type' }),
          bytes: z.int().meta({ description: 'Size of the file' }),
          width: z.int().meta({ description: 'Pixels' }),
          height: z.int().meta({ description: 'Pixels' }),
          duration_ms: z.int().nullable().meta({ description: 'Length of a video; null for images' }),
          sha256: z.string().meta({ description: 'Hash of the file, in lower-case hex' }),
        }),
      )
      .meta({ description: 'The files; empty until it succeeded and after they were deleted' }),
    content_url: link('its first file'),
    thumbnail_url: link('the thumbnail of its first file'),
    poster_url: link('a frame of its video'),
    created_at: TIME.meta({ description: 'When it was ordered' }),
    started_at: TIME.nullable().meta({ description: 'When generating first started; null until then' }),
    completed_at: TIME.nullable().meta({ description: 'When it ended; null until then' }),
    deadline_at: TIME.meta({ description: 'Deadline: it fails if it has not ended by then' }),
    expires_at: TIME.nullable().meta({ description: 'When its files are deleted; null until it succeeded' }),
  })
  .meta({ id: 'Task' });
export type TaskResourceJson = z.output<typeof TASK_RESOURCE>;

interface PresentableTask {
  readonly task: TaskView;
  readonly outputs: readonly TaskOutput[];
  readonly estimate: QueueEstimate;
  readonly links: TaskLinks;
}

/** Returns a task as the native API shows it: without the prompt, and with storage keys only in signed links. */
export function presentTask({ task, outputs, estimate, links }: PresentableTask): TaskResourceJson {
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
    parameters: task.ordered,
    outputs: task.mediaDeletedAt ? [] : outputs.map(presentOutput),
    content_url: links.content,
    thumbnail_url: links.thumbnail,
    poster_url: links.poster,
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

import { z } from 'zod';
import { CURRENCY } from '../http/input/wire-shapes.ts';
import { publicId } from '../lib/ids.ts';
import { formatUsd, ZERO_USD } from '../lib/money.ts';
import type { TaskResult } from './task-results.service.ts';
import { isTerminal } from './task-state.ts';
import type { TaskKind, TaskView } from './tasks.types.ts';

const WIRE_STATUS = z.enum([
  'TASK_STATUS_QUEUED',
  'TASK_STATUS_PROCESSING',
  'TASK_STATUS_SUCCEED',
  'TASK_STATUS_FAILED',
]);
type WireStatus = z.output<typeof WIRE_STATUS>;

/**
 * Novita's task-result (model-apis-task-result). TTLs, seed and times are strings of digits in every state, because Novita's SDKs
 * read them as integers; eta and progress are integers.
 */
export const TASK_RESULT = z
  .object({
    extra: z
      .object({
        seed: z.string().meta({ description: 'The seed in use, as a string of digits' }),
        queue_position: z.int().nullable().meta({
          description: '1 = next, in this queue or inside the engine; null when it does not wait',
        }),
        estimated_amount: z
          .string()
          .meta({ description: 'Price fixed when it was ordered, in USD: what it costs if it succeeds' }),
        charged_amount: z.string().meta({ description: 'USD; 0 unless it succeeded' }),
        currency: z.string().meta({ description: 'Always USD' }),
        expires_at: z.iso
          .datetime()
          .nullable()
          .meta({ description: 'When its files are deleted; null until it succeeded' }),
        debug_info: z
          .object({
            request_info: z.string().meta({ description: 'Always empty' }),
            submit_time_ms: z.string().meta({ description: 'Unix ms at which it was ordered' }),
            execute_time_ms: z
              .string()
              .meta({ description: 'Unix ms at which generating started; 0 until then' }),
            complete_time_ms: z.string().meta({ description: 'Unix ms at which it ended; 0 until then' }),
          })
          .meta({ description: 'Times of the task' }),
      })
      .meta({ description: "Members in addition to Novita's own" }),
    task: z
      .object({
        task_id: z.string().meta({ description: 'Id of the task, gen-…; its generation has the same id' }),
        task_type: z.enum(['TXT_TO_VIDEO', 'TXT_TO_IMG']).meta({ description: 'What is made' }),
        status: WIRE_STATUS.meta({ description: 'SUCCEED and FAILED are final; a canceled task is FAILED' }),
        reason: z
          .string()
          .meta({ description: 'Empty unless it failed: a code in upper case, a colon, and the reason' }),
        eta: z.int().meta({ description: 'Estimated seconds until it ends; 0 when unknown' }),
        progress_percent: z
          .int()
          .min(0)
          .max(100)
          .meta({ description: 'Never decreases; 100 only when it succeeded' }),
      })
      .meta({ description: 'The current state of the task' }),
    images: z
      .array(
        z.object({
          image_url: z.string().meta({
            description: 'Media link, or base64 if the order asked for it and the file has at most 32 MB',
          }),
          image_url_ttl: z
            .string()
            .meta({ description: 'Seconds for which the link is valid; each read signs a new one' }),
          image_type: z.string().meta({ description: 'File format, e.g. png' }),
        }),
      )
      .meta({ description: 'Empty until an image task succeeded, and after its files were deleted' }),
    videos: z
      .array(
        z.object({
          video_url: z.string().meta({ description: 'Media link' }),
          video_url_ttl: z
            .string()
            .meta({ description: 'Seconds for which the link is valid; each read signs a new one' }),
          video_type: z.string().meta({ description: 'File format, e.g. mp4' }),
        }),
      )
      .meta({ description: 'Empty until a video task succeeded, and after its files were deleted' }),
    audios: z.array(z.never()).meta({ description: 'Always empty' }),
  })
  .meta({ id: 'TaskResult' });
export type TaskResultJson = z.output<typeof TASK_RESULT>;

const TASK_TYPES = { image: 'TXT_TO_IMG', video: 'TXT_TO_VIDEO' } as const;
const RETRY_AFTER_SECONDS: Readonly<Record<TaskKind, number>> = { image: 2, video: 5 };

/** Returns the body of a task-result answer, which is also that of the webhook event. */
export function presentTaskResult(result: TaskResult): TaskResultJson {
  const { task, media, estimate } = result;
  const status = wireStatus(task);
  return {
    extra: {
      seed: task.seed.toString(),
      queue_position: estimate.queuePosition,
      estimated_amount: formatUsd(task.charge),
      charged_amount: formatUsd(task.state === 'succeeded' ? task.charge : ZERO_USD),
      currency: CURRENCY,
      expires_at: task.mediaExpiresAt?.toISOString() ?? null,
      debug_info: {
        request_info: '',
        submit_time_ms: unixMs(task.createdAt),
        execute_time_ms: unixMs(task.startedAt),
        complete_time_ms: unixMs(task.completedAt),
      },
    },
    task: {
      task_id: publicId('generation', task.id),
      task_type: TASK_TYPES[task.kind],
      status,
      reason: reasonOf(task),
      eta: estimate.etaSeconds,
      progress_percent: progressPercent(task),
    },
    images:
      task.kind === 'image'
        ? media.map((file) => ({
            image_url: file.content,
            image_url_ttl: String(file.ttlSeconds),
            image_type: file.type,
          }))
        : [],
    videos:
      task.kind === 'video'
        ? media.map((file) => ({
            video_url: file.content,
            video_url_ttl: String(file.ttlSeconds),
            video_type: file.type,
          }))
        : [],
    audios: [],
  };
}

/** Returns `Retry-After` while the task runs, nothing once it has ended. */
export function retryAfterHeader(task: TaskView): Record<string, string> {
  return isTerminal(task.state) ? {} : { 'Retry-After': String(RETRY_AFTER_SECONDS[task.kind]) };
}

/** Returns 0 to 100: never lower than what was shown before, 100 only for a success. */
export function progressPercent(task: TaskView): number {
  if (task.state === 'succeeded') {
    return 100;
  }
  const percent = Math.min(99, Math.floor(task.progress * 100));
  return task.startedAt === null ? percent : Math.max(1, percent);
}

/**
 * Maps to the four states that clients know. A second attempt that waits still counts as processing, so that no client sees a task
 * go back.
 */
function wireStatus(task: TaskView): WireStatus {
  switch (task.state) {
    case 'queued':
      return task.startedAt === null ? 'TASK_STATUS_QUEUED' : 'TASK_STATUS_PROCESSING';
    case 'generating':
    case 'generated':
    case 'processing':
      return 'TASK_STATUS_PROCESSING';
    case 'succeeded':
      return 'TASK_STATUS_SUCCEED';
    case 'failed':
    case 'canceled':
      return 'TASK_STATUS_FAILED';
  }
}

function reasonOf(task: TaskView): string {
  return task.errorCode ? `${task.errorCode.toUpperCase()}: ${task.errorMessage ?? ''}` : '';
}

/** Returns "0" for what has not happened yet: Novita's Python SDK fails on text that is not an integer. */
function unixMs(time: Date | null): string {
  return time ? String(time.getTime()) : '0';
}

import { z } from 'zod';
import { CURRENCY } from '../http/wire-shapes.ts';
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
 * Novita's task-result (model-apis-task-result): TTLs, seed and times are strings of digits in every state, because its SDKs read them
 * as integers; eta and progress are integers.
 */
export const TASK_RESULT = z
  .object({
    extra: z.object({
      seed: z.string(),
      queue_position: z.int().nullable(),
      estimated_amount: z.string(),
      charged_amount: z.string(),
      currency: z.string(),
      expires_at: z.iso.datetime().nullable(),
      debug_info: z.object({
        request_info: z.string(),
        submit_time_ms: z.string(),
        execute_time_ms: z.string(),
        complete_time_ms: z.string(),
      }),
    }),
    task: z.object({
      task_id: z.string(),
      task_type: z.enum(['TXT_TO_VIDEO', 'TXT_TO_IMG']),
      status: WIRE_STATUS,
      reason: z.string(),
      eta: z.int(),
      progress_percent: z.int().min(0).max(100),
    }),
    images: z.array(z.object({ image_url: z.string(), image_url_ttl: z.string(), image_type: z.string() })),
    videos: z.array(z.object({ video_url: z.string(), video_url_ttl: z.string(), video_type: z.string() })),
    audios: z.array(z.never()),
  })
  .meta({ id: 'TaskResult' });
export type TaskResultJson = z.output<typeof TASK_RESULT>;

const TASK_TYPES = { image: 'TXT_TO_IMG', video: 'TXT_TO_VIDEO' } as const;
const RETRY_AFTER_SECONDS: Readonly<Record<TaskKind, number>> = { image: 2, video: 5 };

/** The body of a task-result answer, and of the webhook event. */
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

/** `Retry-After` while the task runs, nothing once it has ended. */
export function retryAfterHeader(task: TaskView): Record<string, string> {
  return isTerminal(task.state) ? {} : { 'Retry-After': String(RETRY_AFTER_SECONDS[task.kind]) };
}

/** 0–100; never lower than what was shown before, 100 only for a success. */
export function progressPercent(task: TaskView): number {
  if (task.state === 'succeeded') {
    return 100;
  }
  const percent = Math.min(99, Math.floor(task.progress * 100));
  return wireStatus(task) === 'TASK_STATUS_PROCESSING' ? Math.max(1, percent) : percent;
}

/** Clients know four states: a second attempt that waits still counts as processing, so that no client sees time run backwards. */
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

/** "0" while it has not happened: Novita's Python SDK fails on text that is no integer. */
function unixMs(time: Date | null): string {
  return time ? String(time.getTime()) : '0';
}

import { z } from 'zod';
import { parseUsd } from '../../lib/money.ts';
import { EngineError, type EngineFailure, type EngineRequest, type EngineStatus } from '../engine.types.ts';
import { CONTENT_REFUSED, MALFORMED, NO_OUTPUT, UPSTREAM_ERROR, withWords } from '../engine-failures.ts';
import type { NovitaSettings } from './novita-settings.ts';

const taskResult = z.looseObject({
  task: z.looseObject({
    status: z.string(),
    reason: z.string().nullish(),
    progress_percent: z.coerce.number().nullish(),
  }),
  images: z.array(z.looseObject({ image_url: z.string().min(1) })).nullish(),
  videos: z.array(z.looseObject({ video_url: z.string().min(1) })).nullish(),
  extra: z
    .looseObject({ charged_amount: z.string().nullish(), queue_position: z.number().nullish() })
    .nullish(),
});
const errorBody = z.looseObject({ reason: z.string() });

export type NovitaResult = z.output<typeof taskResult>;

/** Reads the body of GET /v3/async/task-result. Throws EngineError `upstream_malformed`. */
export function readTaskResult(json: unknown): NovitaResult {
  const parsed = taskResult.safeParse(json);
  if (!parsed.success) {
    throw new EngineError(MALFORMED);
  }
  return parsed.data;
}

/** A task-result as one of our states (Novita API reference, task-result; a Tollgate's additions stand in `extra`). */
export function toStatus(result: NovitaResult, dialect: NovitaSettings['dialect']): EngineStatus {
  const { task, extra } = result;
  switch (task.status) {
    case 'TASK_STATUS_SUCCEED':
      return { state: 'succeeded', progress: 1, ...costOf(result, dialect) };
    case 'TASK_STATUS_FAILED':
      return failed(task.reason ?? '', dialect);
    case 'TASK_STATUS_PROCESSING':
      return { state: 'running', progress: Math.min(Math.max((task.progress_percent ?? 0) / 100, 0), 1) };
    case 'TASK_STATUS_QUEUED':
    case 'TASK_STATUS_UNKNOWN':
      return {
        state: 'queued',
        ...(extra?.queue_position == null ? {} : { queuePosition: extra.queue_position }),
      };
    default:
      throw new EngineError(MALFORMED);
  }
}

/** The URL of the output. Throws EngineError `no_output`. */
export function outputUrl({ images, videos }: NovitaResult, kind: EngineRequest['kind']): string {
  const url = kind === 'image' ? images?.[0]?.image_url : videos?.[0]?.video_url;
  if (url === undefined) {
    throw new EngineError(NO_OUTPUT);
  }
  return url;
}

/** The failure of an answer outside 2xx, told more precisely by its `reason`. */
export function refineByReason(failure: EngineFailure, body: unknown): EngineFailure {
  const parsed = errorBody.safeParse(body);
  return parsed.success && /ILLEGAL_PROMPT|CONTENT/.test(parsed.data.reason) ? CONTENT_REFUSED : failure;
}

function failed(reason: string, dialect: NovitaSettings['dialect']): EngineStatus {
  if (/^(TASK_)?CANCELED\b/.test(reason)) {
    return { state: 'canceled' };
  }
  if (/nsfw|sensitive|ILLEGAL_PROMPT|content_(refused|policy)/i.test(reason)) {
    return { state: 'failed', failure: withWords(CONTENT_REFUSED, reason) };
  }
  // A Tollgate has made its own attempts, and would answer the same Idempotency-Key with the same failed task.
  return {
    state: 'failed',
    failure: withWords({ ...UPSTREAM_ERROR, retryable: dialect === 'novita' }, reason),
  };
}

function costOf({ extra }: NovitaResult, dialect: NovitaSettings['dialect']): { costNanoUsd?: bigint } {
  const charged =
    dialect === 'tollgate' && extra?.charged_amount ? parseUsd(extra.charged_amount) : undefined;
  return charged === undefined ? {} : { costNanoUsd: charged };
}

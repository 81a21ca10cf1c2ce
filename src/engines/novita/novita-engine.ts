import { join } from 'node:path';
import { z } from 'zod';
import { parseUsd } from '../../lib/money.ts';
import { downloadOutput } from '../download-output.ts';
import {
  type EngineCapabilities,
  type EngineContext,
  EngineError,
  type EngineFailure,
  type EngineOutput,
  type EngineRequest,
  type EngineStatus,
} from '../engine.types.ts';
import {
  CONTENT_REFUSED,
  MALFORMED,
  NO_OUTPUT,
  RUN_LOST,
  SUBMIT_UNCONFIRMED,
  UPSTREAM_ERROR,
  withUpstreamMessage,
} from '../engine-failures.ts';
import { bearer, parseEngineSettings, toHttpSettings } from '../engine-settings.ts';
import { modelPath, modelPathError } from '../model-path.ts';
import type { EngineKind } from '../registry.ts';
import { fitSeed, fitSize } from '../request-fit.ts';
import { UpstreamEngine } from '../upstream-engine.ts';
import { type NovitaSettings, novitaSettings } from './novita-settings.ts';

const taskResult = z.looseObject({
  task: z.looseObject({
    task_id: z.string().nullish(),
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

type NovitaResult = z.output<typeof taskResult>;

const accepted = z.looseObject({ task_id: z.string().min(1).max(200) });

/** The endpoint where another Tollgate accepts requests for all its video models. */
const TOLLGATE_VIDEOS = 'video-fast';
const POLL_INTERVAL_MS = 2_000;
const CANCEL_MS = 5_000;
const NOT_FOUND = 404;
const OK = 200;
const ACCEPTED = 202;

/** Novita may not yet know a task that it has just accepted. After enough such polls the run counts as lost. */
const NOT_FOUND_YET: EngineFailure = { ...RUN_LOST, code: 'run_not_found' };

/** The engine kind `novita` in tollgate.yaml. */
export const novitaKind: EngineKind = {
  slotsDefault: 20,
  create: (settings) => new NovitaEngine(parseEngineSettings(novitaSettings, settings)),
};

/** Runs tasks through Novita's asynchronous API. It has the shape of our own endpoints, so parameters are passed unchanged. Always paid. */
export class NovitaEngine extends UpstreamEngine<NovitaSettings> {
  readonly capabilities: EngineCapabilities;
  readonly #idempotent: boolean;

  constructor(settings: NovitaSettings) {
    const http = toHttpSettings(settings, bearer(settings.api_key));
    super(settings, { http, pollIntervalMs: POLL_INTERVAL_MS, readyPath: '/' });
    this.#idempotent = settings.dialect === 'tollgate';
    this.capabilities = {
      kinds: settings.kinds,
      sizeMultiple: settings.size_multiple,
      cancelQueued: this.#idempotent,
      cancelRunning: this.#idempotent,
      paid: true,
    };
  }

  modelError(model: string): string | undefined {
    return modelPathError(model);
  }

  async submit(request: EngineRequest, context: EngineContext): Promise<string> {
    const path = `/v3/async/${this.#idempotent && request.kind === 'video' ? TOLLGATE_VIDEOS : modelPath(request.model)}`;
    const json = bodyOf(request, this.settings);
    const headers: Record<string, string> = this.#idempotent
      ? { 'idempotency-key': this.idempotencyKey(request) }
      : {};
    // With an idempotency key a repeated submit returns the task accepted first, so a lost response is retryable.
    const lost = { ...SUBMIT_UNCONFIRMED, retryable: this.#idempotent };
    const call = { method: 'POST' as const, path, json, headers, signal: context.signal };
    const parsed = accepted.safeParse((await this.http.submit(call, lost, refineByReason)).json);
    if (!parsed.success) {
      throw new EngineError(lost);
    }
    return parsed.data.task_id;
  }

  /** Returns `null` only when submits carry an idempotency key: the next submit then returns the task that was accepted before. */
  override async recover(): Promise<null | 'unknown'> {
    return this.#idempotent ? null : 'unknown';
  }

  async poll(reference: string, _request: EngineRequest, { signal }: EngineContext): Promise<EngineStatus> {
    return toStatus(await this.#result(reference, signal), this.settings.dialect);
  }

  /** Requests the result again before downloading, because its URLs expire after an hour at most. */
  async collect(reference: string, request: EngineRequest, context: EngineContext): Promise<EngineOutput[]> {
    const { signal, folder } = context;
    const { kind } = request;
    const path = join(folder, 'output-0.bin');
    const from = outputUrl(await this.#result(reference, signal), kind);
    await downloadOutput(this.http, { from, path, kind, signal });
    return [{ index: 0, file: path }];
  }

  async cancel(reference: string): Promise<'stopped' | 'requested' | 'unsupported'> {
    if (!this.#idempotent) {
      return 'unsupported';
    }
    const path = `/api/v1/tasks/${encodeURIComponent(reference)}/cancel`;
    const { status } = await this.http.call({ method: 'POST', path, totalMs: CANCEL_MS });
    if (status === OK) {
      return 'stopped';
    }
    return status === ACCEPTED ? 'requested' : 'unsupported';
  }

  async #result(reference: string, signal: AbortSignal) {
    const path = `/v3/async/task-result?${new URLSearchParams({ task_id: reference })}`;
    const answer = await this.http.call({ method: 'GET', path, signal });
    if (answer.status === NOT_FOUND) {
      throw new EngineError(this.#idempotent ? RUN_LOST : NOT_FOUND_YET);
    }
    if (answer.failure) {
      throw new EngineError(answer.failure);
    }
    const result = readTaskResult(answer.json);
    // a cache in between that mixes up its answers must not hand one customer's file to another
    if ((result.task.task_id ?? reference) !== reference) {
      throw new EngineError(withUpstreamMessage(MALFORMED, 'the answer is about another task_id'));
    }
    return result;
  }
}

function bodyOf(request: EngineRequest, settings: NovitaSettings): object {
  const { kind, model, prompt, steps, seconds } = request;
  const secondsField = settings.dialect === 'tollgate' ? 'seconds' : settings.seconds_field;
  const { width, height } = fitSize(request, settings.size_multiple);
  return {
    ...settings.extra,
    ...request.extra,
    prompt,
    seed: fitSeed(request.seed, settings.seed_max),
    ...(kind === 'image' ? { size: `${width}*${height}` } : { model_name: model, width, height }),
    ...(steps === undefined ? {} : { steps }),
    ...(seconds === undefined ? {} : { [secondsField]: seconds }),
  };
}

/** Reads the body of GET /v3/async/task-result. Throws EngineError `upstream_malformed`. */
function readTaskResult(json: unknown): NovitaResult {
  const parsed = taskResult.safeParse(json);
  if (!parsed.success) {
    throw new EngineError(MALFORMED);
  }
  return parsed.data;
}

/** Maps a task-result to one of our states (Novita API reference, task-result). A Tollgate's additions are in `extra`. */
function toStatus(result: NovitaResult, dialect: NovitaSettings['dialect']): EngineStatus {
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

/** Returns the URL of the output. Throws EngineError `no_output`. */
function outputUrl({ images, videos }: NovitaResult, kind: EngineRequest['kind']): string {
  const url = kind === 'image' ? images?.[0]?.image_url : videos?.[0]?.video_url;
  if (url === undefined) {
    throw new EngineError(NO_OUTPUT);
  }
  return url;
}

/** Refines the failure of a response outside 2xx by its `reason`. */
function refineByReason(failure: EngineFailure, body: unknown): EngineFailure {
  const parsed = errorBody.safeParse(body);
  return parsed.success && /ILLEGAL_PROMPT|CONTENT/.test(parsed.data.reason) ? CONTENT_REFUSED : failure;
}

function failed(reason: string, dialect: NovitaSettings['dialect']): EngineStatus {
  if (/^(TASK_)?CANCELED\b/.test(reason)) {
    return { state: 'canceled' };
  }
  if (/nsfw|sensitive|ILLEGAL_PROMPT|content_(refused|policy)/i.test(reason)) {
    return { state: 'failed', failure: withUpstreamMessage(CONTENT_REFUSED, reason) };
  }
  // A Tollgate has already retried.
  return {
    state: 'failed',
    failure: withUpstreamMessage({ ...UPSTREAM_ERROR, retryable: dialect === 'novita' }, reason),
  };
}

function costOf({ extra }: NovitaResult, dialect: NovitaSettings['dialect']): { costNanoUsd?: bigint } {
  const charged =
    dialect === 'tollgate' && extra?.charged_amount ? parseUsd(extra.charged_amount) : undefined;
  return charged === undefined ? {} : { costNanoUsd: charged };
}

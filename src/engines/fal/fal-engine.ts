import { join } from 'node:path';
import { z } from 'zod';
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
  withUpstreamMessage,
} from '../engine-failures.ts';
import { parseEngineSettings, toHttpSettings } from '../engine-settings.ts';
import { modelPath, modelPathError } from '../model-path.ts';
import type { EngineKind } from '../registry.ts';
import { fitSeed, fitSize } from '../request-fit.ts';
import type { UpstreamAnswer } from '../upstream-answer.ts';
import { UpstreamEngine } from '../upstream-engine.ts';
import { type FalSettings, falSettings } from './fal-settings.ts';

const runUrls = z.object({ status_url: z.url(), response_url: z.url(), cancel_url: z.url() });
const file = z.looseObject({ url: z.string().min(1) });
const outputs = z.looseObject({
  images: z.array(file).nullish(),
  image: file.nullish(),
  videos: z.array(file).nullish(),
  video: file.nullish(),
});

const flags = z.looseObject({ has_nsfw_concepts: z.array(z.boolean()) });
const errorBody = z.looseObject({
  detail: z.union([z.string(), z.array(z.looseObject({ type: z.string().nullish() }))]),
});

/** The URLs of a run at fal. They are used as given, because URLs we build would break for models with longer names. */
type FalRun = z.output<typeof runUrls>;

const queueState = z.looseObject({
  status: z.enum(['IN_QUEUE', 'IN_PROGRESS', 'COMPLETED']),
  queue_position: z.number().nullish(),
});
const cancelAnswer = z.looseObject({ status: z.string() });

const POLL_INTERVAL_MS = 1_000;
const CANCEL_MS = 5_000;
const NOT_FOUND = 404;
const GONE = 410;

/** The engine kind `fal` in tollgate.yaml. */
export const falKind: EngineKind = {
  slotsDefault: 20,
  create: (settings) => new FalEngine(parseEngineSettings(falSettings, settings)),
};

/**
 * Runs requests through fal's queue (fal.ai docs, Queue API). It accepts no caller-chosen id, so a run whose submit response is lost cannot
 * be found again. Always paid.
 */
export class FalEngine extends UpstreamEngine<FalSettings> {
  readonly capabilities: EngineCapabilities;

  constructor(settings: FalSettings) {
    const http = toHttpSettings(settings, `Key ${settings.api_key}`);
    super(settings, { http, pollIntervalMs: POLL_INTERVAL_MS, readyPath: '/' });
    this.capabilities = {
      kinds: settings.kinds,
      sizeMultiple: settings.size_multiple,
      cancelQueued: true,
      cancelRunning: true,
      paid: true,
    };
  }

  modelError(model: string): string | undefined {
    return modelPathError(model);
  }

  async submit(request: EngineRequest, context: EngineContext): Promise<string> {
    const path = `/${modelPath(request.model)}`;
    const json = bodyOf(request, this.settings);
    const call = { method: 'POST' as const, path, json, signal: context.signal };
    const answer = await this.http.submit(call, SUBMIT_UNCONFIRMED, refineByDetail);
    const run = readRun(answer.json, this.http.base.origin);
    if (!run) {
      throw new EngineError(SUBMIT_UNCONFIRMED);
    }
    return toReference(run);
  }

  async poll(reference: string, _request: EngineRequest, { signal }: EngineContext): Promise<EngineStatus> {
    const run = fromReference(reference, this.http.base.origin);
    const answer = await this.http.call({ method: 'GET', path: run.status_url, signal });
    if (answer.status === NOT_FOUND || answer.status === GONE) {
      return { state: 'failed', failure: RUN_LOST };
    }
    if (answer.failure) {
      throw new EngineError(answer.failure);
    }
    const parsed = queueState.safeParse(answer.json);
    if (!parsed.success) {
      throw new EngineError(MALFORMED);
    }
    const { status, queue_position } = parsed.data;
    if (status === 'IN_QUEUE') {
      return { state: 'queued', ...(queue_position == null ? {} : { queuePosition: queue_position }) };
    }
    // COMPLETED does not mean success: only the result tells.
    return status === 'IN_PROGRESS'
      ? { state: 'running' }
      : outcomeOf(await this.http.call({ method: 'GET', path: run.response_url, signal }));
  }

  async collect(reference: string, request: EngineRequest, context: EngineContext): Promise<EngineOutput[]> {
    const { signal, folder } = context;
    const { kind } = request;
    const run = fromReference(reference, this.http.base.origin);
    const path = join(folder, 'output-0.bin');
    const from = outputUrl(await this.http.expect({ method: 'GET', path: run.response_url, signal }), kind);
    await downloadOutput(this.http, { from, path, kind, signal });
    return [{ index: 0, file: path }];
  }

  async cancel(reference: string): Promise<'stopped' | 'requested' | 'unsupported'> {
    const run = fromReference(reference, this.http.base.origin);
    const answer = await this.http.call({ method: 'PUT', path: run.cancel_url, totalMs: CANCEL_MS });
    switch (cancelAnswer.safeParse(answer.json).data?.status) {
      case 'OK':
        return 'stopped';
      case 'CANCELLATION_REQUESTED':
        return 'requested';
      default:
        return 'unsupported';
    }
  }
}

/** Throws transport errors, which say nothing about the run, so the result is requested again instead of being generated again. */
function outcomeOf({ failure, status, json }: UpstreamAnswer): EngineStatus {
  if (!failure) {
    return isBlackedOut(json)
      ? { state: 'failed', failure: withUpstreamMessage(CONTENT_REFUSED, 'has_nsfw_concepts: true') }
      : { state: 'succeeded', progress: 1 };
  }
  if (isModelError(json) || (status >= 400 && status < 500 && failure.retryAfterMs === undefined)) {
    return { state: 'failed', failure: refineByDetail(failure, json) };
  }
  throw new EngineError(failure);
}

function bodyOf(request: EngineRequest, settings: FalSettings): object {
  const { prompt, steps, seconds } = request;
  const { size_field, seed_field, steps_field, seconds_field, seed_max, size_multiple, extra } = settings;
  const size = fitSize(request, size_multiple);
  const sizes = { image_size: { image_size: size }, width_height: size, none: {} };
  return {
    ...extra,
    ...request.extra,
    prompt,
    ...sizes[size_field],
    ...(seed_field === 'none' ? {} : { [seed_field]: fitSeed(request.seed, seed_max) }),
    ...(steps_field === 'none' || steps === undefined ? {} : { [steps_field]: steps }),
    ...(seconds_field === 'none' || seconds === undefined ? {} : { [seconds_field]: seconds }),
  };
}

/** Reads the URLs from a submit response; undefined when they are missing or not on `origin`. */
function readRun(json: unknown, origin: string): FalRun | undefined {
  const parsed = runUrls.safeParse(json);
  const urls = parsed.success ? Object.values(parsed.data) : [];
  return parsed.success && urls.every((url) => new URL(url).origin === origin) ? parsed.data : undefined;
}

/** Builds the reference of a run from its URLs. */
function toReference({ status_url, response_url, cancel_url }: FalRun): string {
  return JSON.stringify({ status_url, response_url, cancel_url });
}

/** Inverse of {@link toReference}. Throws EngineError `run_lost` for anything else. */
function fromReference(reference: string, origin: string): FalRun {
  let json: unknown;
  try {
    json = JSON.parse(reference);
  } catch {
    json = undefined;
  }
  const found = readRun(json, origin);
  if (!found) {
    throw new EngineError(RUN_LOST);
  }
  return found;
}

/** Returns the output's URL in a result. Some models name one file, others list several. Throws EngineError `no_output`. */
function outputUrl(json: unknown, kind: EngineRequest['kind']): string {
  const { images, image, videos, video } = outputs.safeParse(json).data ?? {};
  const found = kind === 'image' ? (images?.[0] ?? image) : (video ?? videos?.[0]);
  if (!found) {
    throw new EngineError(NO_OUTPUT);
  }
  return found.url;
}

/** Returns whether a result flags its first image as NSFW. The image is then blacked out. */
function isBlackedOut(json: unknown): boolean {
  return flags.safeParse(json).data?.has_nsfw_concepts[0] === true;
}

/** Returns whether an error body comes from the model itself (fal's `detail`) rather than from something in between. */
function isModelError(json: unknown): boolean {
  return errorBody.safeParse(json).success;
}

/** Refines the failure of a response outside 2xx by the types in its `detail`. */
function refineByDetail(failure: EngineFailure, json: unknown): EngineFailure {
  const { detail } = errorBody.safeParse(json).data ?? {};
  const types = Array.isArray(detail) ? detail.map(({ type }) => type ?? '') : [];
  return types.some((type) => /content_policy|safety|nsfw/.test(type))
    ? withUpstreamMessage(CONTENT_REFUSED, failure.said)
    : failure;
}

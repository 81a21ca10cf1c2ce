import { join } from 'node:path';
import { z } from 'zod';
import { downloadOutput } from '../download-output.ts';
import {
  type Engine,
  type EngineCapabilities,
  type EngineContext,
  EngineError,
  type EngineOutput,
  type EngineRequest,
  type EngineStatus,
} from '../engine.types.ts';
import { CONTENT_REFUSED, MALFORMED, RUN_LOST, SUBMIT_UNCONFIRMED, withWords } from '../engine-failures.ts';
import { parseEngineSettings, toHttpSettings } from '../engine-settings.ts';
import { modelPath, modelPathMistake } from '../model-path.ts';
import type { EngineKind } from '../registry.ts';
import { fitSeed, fitSize } from '../request-fit.ts';
import type { UpstreamAnswer } from '../upstream-answer.ts';
import { UpstreamHttp } from '../upstream-http.ts';
import {
  fromReference,
  isBlackedOut,
  isModelError,
  outputUrl,
  readRun,
  refineByDetail,
  toReference,
} from './fal-run.ts';
import { type FalSettings, falSettings } from './fal-settings.ts';

const queueState = z.looseObject({
  status: z.enum(['IN_QUEUE', 'IN_PROGRESS', 'COMPLETED']),
  queue_position: z.number().nullish(),
});
const cancelAnswer = z.looseObject({ status: z.string() });

const POLL_INTERVAL_MS = 1_000;
const CANCEL_MS = 5_000;
const NOT_FOUND = 404;
const GONE = 410;

/** Kind `fal` of tollgate.yaml. */
export const falKind: EngineKind = {
  slotsDefault: 20,
  create: (settings) => new FalEngine(parseEngineSettings(falSettings, settings)),
};

/** Requests in fal's queue (fal.ai docs, Queue API). It accepts no caller-chosen id: a submit whose answer is lost stays lost. Always paid. */
export class FalEngine implements Engine {
  readonly kind = 'fal';
  readonly id: string;
  readonly capabilities: EngineCapabilities;
  readonly pollIntervalMs: number;
  readonly #settings: FalSettings;
  readonly #http: UpstreamHttp;

  constructor(settings: FalSettings) {
    this.id = settings.id;
    this.#settings = settings;
    this.#http = new UpstreamHttp(toHttpSettings(settings, `Key ${settings.api_key}`));
    this.pollIntervalMs = settings.poll_interval_ms ?? POLL_INTERVAL_MS;
    this.capabilities = {
      kinds: settings.kinds,
      sizeMultiple: settings.size_multiple,
      cancelQueued: true,
      cancelRunning: true,
      paid: true,
    };
  }

  modelMistake(model: string): string | undefined {
    return modelPathMistake(model);
  }

  async submit(request: EngineRequest, context: EngineContext): Promise<string> {
    const path = `/${modelPath(request.model)}`;
    const json = bodyOf(request, this.#settings);
    const call = { method: 'POST' as const, path, json, signal: context.signal };
    const answer = await this.#http.submit(call, SUBMIT_UNCONFIRMED, refineByDetail);
    const run = readRun(answer.json, this.#http.base.origin);
    if (!run) {
      throw new EngineError(SUBMIT_UNCONFIRMED);
    }
    return toReference(run);
  }

  async recover(): Promise<'unknown'> {
    return 'unknown';
  }

  async poll(reference: string, _request: EngineRequest, { signal }: EngineContext): Promise<EngineStatus> {
    const run = fromReference(reference, this.#http.base.origin);
    const answer = await this.#http.call({ method: 'GET', path: run.status_url, signal });
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
    // COMPLETED says nothing about success: the result itself does.
    return status === 'IN_PROGRESS'
      ? { state: 'running' }
      : outcomeOf(await this.#http.call({ method: 'GET', path: run.response_url, signal }));
  }

  async collect(reference: string, request: EngineRequest, context: EngineContext): Promise<EngineOutput[]> {
    const { signal, folder } = context;
    const { kind } = request;
    const run = fromReference(reference, this.#http.base.origin);
    const path = join(folder, 'output-0.bin');
    const from = outputUrl(await this.#http.expect({ method: 'GET', path: run.response_url, signal }), kind);
    await downloadOutput(this.#http, { from, path, kind, signal });
    return [{ index: 0, file: path }];
  }

  async cancel(reference: string): Promise<'stopped' | 'requested' | 'unsupported'> {
    const run = fromReference(reference, this.#http.base.origin);
    const answer = await this.#http.call({ method: 'PUT', path: run.cancel_url, totalMs: CANCEL_MS });
    switch (cancelAnswer.safeParse(answer.json).data?.status) {
      case 'OK':
        return 'stopped';
      case 'CANCELLATION_REQUESTED':
        return 'requested';
      default:
        return 'unsupported';
    }
  }

  async isReady(signal: AbortSignal): Promise<boolean> {
    return await this.#http.isAnswering('/', signal);
  }

  async close(): Promise<void> {
    await this.#http.close();
  }
}

/** An error on the way says nothing about the run: it is thrown, so that the result is asked for again and not made again. */
function outcomeOf({ failure, status, json }: UpstreamAnswer): EngineStatus {
  if (!failure) {
    return isBlackedOut(json)
      ? { state: 'failed', failure: withWords(CONTENT_REFUSED, 'has_nsfw_concepts: true') }
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

import { join } from 'node:path';
import { z } from 'zod';
import { downloadOutput } from '../download-output.ts';
import {
  type Engine,
  type EngineCapabilities,
  type EngineContext,
  EngineError,
  type EngineFailure,
  type EngineOutput,
  type EngineRequest,
  type EngineStatus,
} from '../engine.types.ts';
import { RUN_LOST, SUBMIT_UNCONFIRMED } from '../engine-failures.ts';
import { bearer, parseEngineSettings, toHttpSettings } from '../engine-settings.ts';
import { modelPath, modelPathMistake } from '../model-path.ts';
import type { EngineKind } from '../registry.ts';
import { fitSeed, fitSize } from '../request-fit.ts';
import { UpstreamHttp } from '../upstream-http.ts';
import { type NovitaSettings, novitaSettings } from './novita-settings.ts';
import { outputUrl, readTaskResult, refineByReason, toStatus } from './task-result.ts';

const accepted = z.looseObject({ task_id: z.string().min(1).max(200) });

/** Where another Tollgate takes orders for all of its video models. */
const TOLLGATE_VIDEOS = 'video-fast';
const POLL_INTERVAL_MS = 2_000;
const CANCEL_MS = 5_000;
const NOT_FOUND = 404;
const OK = 200;
const ACCEPTED = 202;

/** Novita may not know a task yet that it has just accepted; asked often enough, it is lost. */
const NOT_FOUND_YET: EngineFailure = { ...RUN_LOST, code: 'run_not_found' };

/** Kind `novita` of tollgate.yaml. */
export const novitaKind: EngineKind = {
  slotsDefault: 20,
  create: (settings) => new NovitaEngine(parseEngineSettings(novitaSettings, settings)),
};

/** Tasks of Novita's asynchronous API: our own endpoints' shape, so parameters pass as they are. Always paid. */
export class NovitaEngine implements Engine {
  readonly kind = 'novita';
  readonly id: string;
  readonly capabilities: EngineCapabilities;
  readonly pollIntervalMs: number;
  readonly #settings: NovitaSettings;
  readonly #http: UpstreamHttp;
  readonly #idempotent: boolean;

  constructor(settings: NovitaSettings) {
    this.id = settings.id;
    this.#settings = settings;
    this.#idempotent = settings.dialect === 'tollgate';
    this.#http = new UpstreamHttp(toHttpSettings(settings, bearer(settings.api_key)));
    this.pollIntervalMs = settings.poll_interval_ms ?? POLL_INTERVAL_MS;
    this.capabilities = {
      kinds: settings.kinds,
      sizeMultiple: settings.size_multiple,
      cancelQueued: this.#idempotent,
      cancelRunning: this.#idempotent,
      paid: true,
    };
  }

  modelMistake(model: string): string | undefined {
    return modelPathMistake(model);
  }

  async submit(request: EngineRequest, context: EngineContext): Promise<string> {
    const path = `/v3/async/${this.#idempotent && request.kind === 'video' ? TOLLGATE_VIDEOS : modelPath(request.model)}`;
    const json = bodyOf(request, this.#settings);
    const headers: Record<string, string> = this.#idempotent ? { 'idempotency-key': request.taskId } : {};
    // Asking again with the same key finds what was accepted, so here a lost answer may be asked for again.
    const lost = { ...SUBMIT_UNCONFIRMED, retryable: this.#idempotent };
    const call = { method: 'POST' as const, path, json, headers, signal: context.signal };
    const parsed = accepted.safeParse((await this.#http.submit(call, lost, refineByReason)).json);
    if (!parsed.success) {
      throw new EngineError(lost);
    }
    return parsed.data.task_id;
  }

  /** `null` only where the next submit carries the key of the one before: whatever was accepted then is what it returns. */
  async recover(): Promise<null | 'unknown'> {
    return this.#idempotent ? null : 'unknown';
  }

  async poll(reference: string, _request: EngineRequest, { signal }: EngineContext): Promise<EngineStatus> {
    return toStatus(await this.#result(reference, signal), this.#settings.dialect);
  }

  /** URLs live an hour at most: they are requested again and fetched at once. */
  async collect(reference: string, request: EngineRequest, context: EngineContext): Promise<EngineOutput[]> {
    const { signal, folder } = context;
    const { kind } = request;
    const path = join(folder, 'output-0.bin');
    const from = outputUrl(await this.#result(reference, signal), kind);
    await downloadOutput(this.#http, { from, path, kind, signal });
    return [{ index: 0, file: path }];
  }

  async cancel(reference: string): Promise<'stopped' | 'requested' | 'unsupported'> {
    if (!this.#idempotent) {
      return 'unsupported';
    }
    const path = `/api/v1/tasks/${encodeURIComponent(reference)}/cancel`;
    const { status } = await this.#http.call({ method: 'POST', path, totalMs: CANCEL_MS });
    if (status === OK) {
      return 'stopped';
    }
    return status === ACCEPTED ? 'requested' : 'unsupported';
  }

  async isReady(signal: AbortSignal): Promise<boolean> {
    return await this.#http.isAnswering('/', signal);
  }

  async close(): Promise<void> {
    await this.#http.close();
  }

  async #result(reference: string, signal: AbortSignal) {
    const path = `/v3/async/task-result?${new URLSearchParams({ task_id: reference })}`;
    const answer = await this.#http.call({ method: 'GET', path, signal });
    if (answer.status === NOT_FOUND) {
      throw new EngineError(this.#idempotent ? RUN_LOST : NOT_FOUND_YET);
    }
    if (answer.failure) {
      throw new EngineError(answer.failure);
    }
    return readTaskResult(answer.json);
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

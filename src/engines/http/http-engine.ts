import { join } from 'node:path';
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
import {
  CONTENT_REFUSED,
  MALFORMED,
  MISCONFIGURED,
  NO_OUTPUT,
  RUN_LOST,
  SUBMIT_UNCONFIRMED,
  UPSTREAM_ERROR,
  withWords,
} from '../engine-failures.ts';
import { parseEngineSettings, toHttpSettings } from '../engine-settings.ts';
import { modelPath, modelPathMistake } from '../model-path.ts';
import type { EngineKind } from '../registry.ts';
import { fitSeed, fitSize } from '../request-fit.ts';
import { type UpstreamAnswer, UpstreamHttp } from '../upstream-http.ts';
import { type HttpEngineSettings, httpSettings } from './http-settings.ts';
import { fillPath, fillTemplate, type TemplateValues, valueAt } from './template.ts';

const POLL_INTERVAL_MS = 2_000;
const CANCEL_MS = 5_000;
const NOT_FOUND = 404;
const GONE = 410;

/** Kind `http` of tollgate.yaml. */
export const httpKind: EngineKind = {
  slotsDefault: 20,
  create: (settings) => new HttpEngine(parseEngineSettings(httpSettings, settings)),
};

/** A service by its entry alone: an order, a question after it, a file by URL. What it cannot say of itself is taken for the worst. */
export class HttpEngine implements Engine {
  readonly kind = 'http';
  readonly id: string;
  readonly capabilities: EngineCapabilities;
  readonly pollIntervalMs: number;
  readonly #settings: HttpEngineSettings;
  readonly #http: UpstreamHttp;
  readonly #contentRefused: RegExp;

  constructor(settings: HttpEngineSettings) {
    this.id = settings.id;
    this.#settings = settings;
    const key = settings.api_key === '' ? '' : `${settings.key_scheme} ${settings.api_key}`.trim();
    this.#http = new UpstreamHttp(toHttpSettings(settings, key));
    this.#contentRefused = new RegExp(settings.content_refused, 'i');
    this.pollIntervalMs = settings.poll_interval_ms ?? POLL_INTERVAL_MS;
    this.capabilities = {
      kinds: settings.kinds,
      sizeMultiple: settings.size_multiple,
      cancelQueued: settings.cancel !== undefined,
      cancelRunning: settings.cancel !== undefined,
      paid: settings.paid,
    };
  }

  modelMistake(model: string): string | undefined {
    return this.#settings.submit.path.includes('{model}') ? modelPathMistake(model) : undefined;
  }

  async submit(request: EngineRequest, context: EngineContext): Promise<string> {
    const { submit, idempotency_header: header, paid } = this.#settings;
    const values = this.#valuesOf(request);
    if (submit.path.includes('{model}')) {
      modelPath(request.model);
    }
    // Asking again under the same key finds what was accepted, so there a lost answer may be asked for again.
    const lost = paid ? { ...SUBMIT_UNCONFIRMED, retryable: header !== undefined } : undefined;
    const call = {
      method: 'POST' as const,
      path: fillPath(submit.path, values),
      json: bodyOf(submit.body, values),
      headers: header === undefined ? {} : { [header]: request.taskId },
      signal: context.signal,
    };
    const answer = await this.#http.submit(call, lost, (failure, json) => this.#refine(failure, json));
    const reference = valueAt(answer.json, submit.reference);
    if (typeof reference !== 'string' && typeof reference !== 'number') {
      throw new EngineError(lost ?? MALFORMED);
    }
    return String(reference);
  }

  /** `null` only where the next submit carries the key of the one before: whatever was accepted then is what it returns. */
  async recover(): Promise<null | 'unknown'> {
    return this.#settings.idempotency_header === undefined ? 'unknown' : null;
  }

  async poll(reference: string, _request: EngineRequest, { signal }: EngineContext): Promise<EngineStatus> {
    const { state, states, progress, progress_max: most, error } = this.#settings.poll;
    const { json } = await this.#ask(reference, signal);
    const word = valueAt(json, state);
    const meant = typeof word === 'string' && Object.hasOwn(states, word) ? states[word] : undefined;
    if (meant === undefined) {
      throw new EngineError(withWords(MALFORMED, `${state}: ${JSON.stringify(word)} is none of poll.states`));
    }
    if (meant === 'failed') {
      const said = error === undefined ? undefined : valueAt(json, error);
      const words = said === undefined || said === null ? undefined : textOf(said);
      return { state: meant, failure: this.#refine(withWords(UPSTREAM_ERROR, words), said) };
    }
    if (meant === 'succeeded') {
      return { state: meant, progress: 1 };
    }
    const far = progress === undefined ? undefined : Number(valueAt(json, progress)) / most;
    const known =
      far !== undefined && Number.isFinite(far) ? { progress: Math.min(Math.max(far, 0), 1) } : {};
    return { state: meant, ...known };
  }

  /** URLs may be short-lived: they are asked for anew and fetched at once. */
  async collect(reference: string, request: EngineRequest, context: EngineContext): Promise<EngineOutput[]> {
    const { signal, folder } = context;
    const { kind } = request;
    const { json } = await this.#ask(reference, signal);
    const found = valueAt(json, this.#settings.output);
    const from: unknown = Array.isArray(found) ? found[0] : found;
    if (typeof from !== 'string' || from === '') {
      throw new EngineError(NO_OUTPUT);
    }
    const path = join(folder, 'output-0.bin');
    await downloadOutput(this.#http, { from, path, kind, signal, otherHosts: true });
    return [{ index: 0, file: path }];
  }

  async cancel(reference: string): Promise<'requested' | 'unsupported'> {
    const { cancel } = this.#settings;
    if (!cancel) {
      return 'unsupported';
    }
    const path = fillPath(cancel.path, { reference });
    const { failure } = await this.#http.call({ method: cancel.method, path, totalMs: CANCEL_MS });
    return failure ? 'unsupported' : 'requested';
  }

  async isReady(signal: AbortSignal): Promise<boolean> {
    return await this.#http.isAnswering('/', signal);
  }

  async close(): Promise<void> {
    await this.#http.close();
  }

  async #ask(reference: string, signal: AbortSignal): Promise<UpstreamAnswer> {
    const path = fillPath(this.#settings.poll.path, { reference });
    const answer = await this.#http.call({ method: 'GET', path, signal });
    if (answer.status === NOT_FOUND || answer.status === GONE) {
      throw new EngineError(RUN_LOST);
    }
    if (answer.failure) {
      throw new EngineError(answer.failure);
    }
    return answer;
  }

  /** Throws EngineError for a size that the entry has no words for. */
  #valuesOf(request: EngineRequest): TemplateValues {
    const { sizes, size_multiple, seed_max } = this.#settings;
    const { taskId, kind, model, prompt, steps, seconds } = request;
    const size = sizes?.[`${request.width}*${request.height}`];
    if (sizes && !size) {
      const words = `sizes has no entry for ${request.width}*${request.height}`;
      throw new EngineError(withWords(MISCONFIGURED, words));
    }
    const named = Object.entries(size ?? {}).map(([name, value]) => [`size.${name}`, value]);
    return {
      ...{ prompt, model, kind, steps, seconds },
      ...fitSize(request, size_multiple),
      seed: fitSeed(request.seed, seed_max),
      task: taskId,
      ...Object.fromEntries(named),
    };
  }

  #refine(failure: EngineFailure, said: unknown): EngineFailure {
    return this.#contentRefused.test(textOf(said)) ? withWords(CONTENT_REFUSED, failure.said) : failure;
  }
}

function bodyOf(template: HttpEngineSettings['submit']['body'], values: TemplateValues): object {
  const body = fillTemplate(template, values);
  return typeof body === 'object' && body !== null ? body : {};
}

function textOf(said: unknown): string {
  return typeof said === 'string' ? said : JSON.stringify(said ?? '');
}

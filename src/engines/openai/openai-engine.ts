import {
  type Engine,
  type EngineCapabilities,
  type EngineContext,
  EngineError,
  type EngineOutput,
  type EngineRequest,
  type EngineStatus,
} from '../engine.types.ts';
import { RUN_LOST } from '../engine-failures.ts';
import { bearer, parseEngineSettings, toHttpSettings } from '../engine-settings.ts';
import { HeldRuns } from '../held-runs.ts';
import type { EngineKind } from '../registry.ts';
import { UpstreamHttp } from '../upstream-http.ts';
import { callForImage } from './image-call.ts';
import { type OpenAiSettings, openAiSettings } from './openai-settings.ts';
import { VideoJobs } from './video-jobs.ts';

const POLL_INTERVAL_MS = 2_000;

/** Kind `openai` of tollgate.yaml: OpenAI's Images API and the Videos API that vLLM-Omni and SGLang serve. */
export const openAiKind: EngineKind = {
  slotsDefault: 1,
  create: (settings) => new OpenAiEngine(parseEngineSettings(openAiSettings, settings)),
};

/** Images are one long call per run, kept in this process; videos are jobs of the upstream. Neither accepts a caller-chosen id. */
export class OpenAiEngine implements Engine {
  readonly kind = 'openai';
  readonly id: string;
  readonly capabilities: EngineCapabilities;
  readonly pollIntervalMs: number;
  readonly #settings: OpenAiSettings;
  readonly #http: UpstreamHttp;
  readonly #images = new HeldRuns();
  readonly #videos: VideoJobs;

  constructor(settings: OpenAiSettings) {
    this.id = settings.id;
    this.#settings = settings;
    this.capabilities = capabilitiesOf(settings);
    this.pollIntervalMs = settings.poll_interval_ms ?? POLL_INTERVAL_MS;
    this.#http = new UpstreamHttp(toHttpSettings(settings, bearer(settings.api_key)));
    this.#videos = new VideoJobs(this.#http, settings);
  }

  async submit(request: EngineRequest, context: EngineContext): Promise<string> {
    if (request.kind === 'video') {
      return await this.#videos.submit(request, context);
    }
    context.signal.throwIfAborted();
    return this.#images.start(request, context, (signal) =>
      callForImage(this.#http, this.#settings, request, {
        signal,
        get folder() {
          return context.folder;
        },
      }),
    );
  }

  // Neither API takes an id of the client's, and a list of videos does not say whose they are.
  async recover(): Promise<'unknown'> {
    return 'unknown';
  }

  async poll(reference: string, _request: EngineRequest, context: EngineContext): Promise<EngineStatus> {
    return HeldRuns.owns(reference)
      ? await this.#images.poll(reference, context.signal)
      : await this.#videos.poll(reference, context);
  }

  async collect(reference: string, _request: EngineRequest, context: EngineContext): Promise<EngineOutput[]> {
    if (!HeldRuns.owns(reference)) {
      return await this.#videos.collect(reference, context);
    }
    const file = this.#images.take(reference);
    if (file === undefined) {
      throw new EngineError(RUN_LOST);
    }
    return [{ index: 0, file }];
  }

  async cancel(reference: string): Promise<'requested' | 'unsupported'> {
    if (!HeldRuns.owns(reference)) {
      return await this.#videos.cancel(reference);
    }
    await this.#images.cancel(reference);
    return 'requested';
  }

  async isReady(signal: AbortSignal): Promise<boolean> {
    return await this.#http.isAnswering('/models', signal);
  }

  async close(): Promise<void> {
    await this.#images.close();
    await this.#http.close();
  }
}

/** Closing the connection ends a free image; a paid one is billed all the same. Videos end where DELETE is understood. */
function capabilitiesOf({ kinds, size_multiple, paid, cancel_method }: OpenAiSettings): EngineCapabilities {
  const stops = { image: !paid, video: cancel_method === 'delete' };
  const stoppable = kinds.every((kind) => stops[kind]);
  return {
    kinds,
    sizeMultiple: size_multiple,
    cancelQueued: stoppable,
    cancelRunning: stoppable,
    paid,
    transient: (kind) => kind === 'image' && !paid,
  };
}

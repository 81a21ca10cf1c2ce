import { join } from 'node:path';
import { z } from 'zod';
import { retryAfterMs } from '../../upstream/retry-after.ts';
import { type DivertedJson, divertBase64 } from '../divert-base64.ts';
import { OUTPUT_BYTES_MAX, OUTPUT_MS_MAX } from '../download-output.ts';
import {
  type EngineCapabilities,
  type EngineContext,
  EngineError,
  type EngineOutput,
  type EngineRequest,
  type EngineStatus,
} from '../engine.types.ts';
import {
  ENGINE_AWAY,
  engineFailureOfStatus,
  MALFORMED,
  MISCONFIGURED,
  NO_OUTPUT,
  OUT_OF_MEMORY,
  RUN_LOST,
  UPSTREAM_ERROR,
  withUpstreamMessage,
} from '../engine-failures.ts';
import { bearer, parseEngineSettings, toHttpSettings } from '../engine-settings.ts';
import type { EngineKind } from '../registry.ts';
import { fitSeed, fitSize } from '../request-fit.ts';
import { toEngineError } from '../transport-failure.ts';
import { UpstreamEngine } from '../upstream-engine.ts';
import { RunTimes } from './run-times.ts';
import { type SdCppSettings, sdCppSettings } from './sdcpp-settings.ts';
import { MODES, readAbilities, type ServerAbilities } from './server-abilities.ts';

const accepted = z.looseObject({ id: z.string().min(1).max(200) });
const job = z.looseObject({
  status: z.enum(['queued', 'generating', 'completed', 'failed', 'cancelled']),
  queue_position: z.number().nullish(),
  error: z.looseObject({ message: z.string().nullish() }).nullish(),
});

const POLL_INTERVAL_MS = 1_000;
/** Number of frames of a video when neither the task, the entry nor the server sets a length. */
const VIDEO_FRAMES = 81;
const FRAMES_PER_SECOND = 16;
const CANCEL_MS = 5_000;
const NOT_FOUND = 404;
const GONE = 410;

/** The engine kind `sdcpp` in tollgate.yaml. */
export const sdCppKind: EngineKind = {
  slotsDefault: 1,
  create: (settings) => new SdCppEngine(parseEngineSettings(sdCppSettings, settings)),
};

/**
 * Runs jobs on sd-server through its native routes (stable-diffusion.cpp examples/server/api.md). It accepts no caller-chosen id, keeps
 * results for ten minutes inside the job's JSON, and cannot stop a job that has started.
 */
export class SdCppEngine extends UpstreamEngine<SdCppSettings> {
  readonly capabilities: EngineCapabilities;
  readonly #times = new RunTimes();

  constructor(settings: SdCppSettings) {
    const http = toHttpSettings(settings, bearer(settings.api_key));
    super(settings, { http, pollIntervalMs: POLL_INTERVAL_MS, readyPath: '/sdcpp/v1/capabilities' });
    this.capabilities = {
      kinds: settings.kinds,
      sizeMultiple: settings.size_multiple,
      cancelQueued: true,
      cancelRunning: false,
      paid: false,
    };
  }

  async submit(request: EngineRequest, context: EngineContext): Promise<string> {
    const { signal } = context;
    const path = `/sdcpp/v1/${MODES[request.kind]}`;
    // Checked for each video: the server may have been restarted, and one call is cheap compared with minutes of work.
    const film = request.kind === 'video' ? await this.#videoOptionsOf(request, signal) : undefined;
    const json = bodyOf(request, this.settings, film);
    const answer = await this.http.submit({ method: 'POST', path, json, signal }, undefined);
    const parsed = accepted.safeParse(answer.json);
    if (!parsed.success) {
      throw new EngineError(MALFORMED);
    }
    return parsed.data.id;
  }

  async poll(reference: string, request: EngineRequest, context: EngineContext): Promise<EngineStatus> {
    // The response for a finished job contains its files, which are discarded here.
    const { json } = await this.#readJob(reference, request, context, false);
    const parsed = job.safeParse(json);
    if (!parsed.success) {
      throw new EngineError(MALFORMED);
    }
    const status = toStatus(parsed.data);
    if (status.state === 'running') {
      const progress = this.#times.progress(reference, request);
      return progress === undefined ? status : { ...status, progress };
    }
    if (status.state !== 'queued') {
      this.#times.ended(reference, request, status.state === 'succeeded');
    }
    return status;
  }

  async collect(reference: string, request: EngineRequest, context: EngineContext): Promise<EngineOutput[]> {
    const { files } = await this.#readJob(reference, request, context, true);
    const [file] = files;
    if (file === undefined) {
      throw new EngineError(NO_OUTPUT);
    }
    return [{ index: 0, file }];
  }

  async cancel(reference: string): Promise<'stopped' | 'unsupported'> {
    const path = `${jobPath(reference)}/cancel`;
    const { status } = await this.http.call({ method: 'POST', path, totalMs: CANCEL_MS });
    const over = status === 200 || status === NOT_FOUND || status === GONE;
    return over ? 'stopped' : 'unsupported';
  }

  /** Returns the settings that the server cannot satisfy with its loaded model. */
  async findMistakes(signal: AbortSignal): Promise<string[]> {
    const { modes, videoFormats } = await readAbilities(this.http, signal);
    const { kinds, video_format: format } = this.settings;
    const canNothing = modes !== undefined && !kinds.some((kind) => modes.includes(MODES[kind]));
    const noFormat = format !== undefined && videoFormats !== undefined && !videoFormats.includes(format);
    return [
      ...(canNothing
        ? [`kinds: ${kinds.join(', ')}, but its model supports ${modes.join(', ') || 'nothing'}`]
        : []),
      ...(noFormat ? [`video_format: ${format} is not one of ${videoFormats.join(', ')}`] : []),
    ];
  }

  /** Throws EngineError when the loaded model cannot generate videos, which the operator has to fix. */
  async #videoOptionsOf(request: EngineRequest, signal: AbortSignal): Promise<object> {
    const server = await this.#abilities(signal);
    if (server?.modes && !server.modes.includes(MODES.video)) {
      const words = `its model cannot generate videos: supported_modes are ${server.modes.join(', ')}`;
      throw new EngineError(withUpstreamMessage(MISCONFIGURED, words));
    }
    return videoOptionsOf(request, this.settings, server);
  }

  /** Returns undefined when the server does not report its abilities; the request then uses what most servers support. */
  async #abilities(signal: AbortSignal): Promise<ServerAbilities | undefined> {
    try {
      return await readAbilities(this.http, signal);
    } catch (error) {
      if (error instanceof EngineError && !ENGINE_AWAY.has(error.failure.code)) {
        return undefined;
      }
      throw error;
    }
  }

  async #readJob(
    reference: string,
    { kind }: EngineRequest,
    context: EngineContext,
    wantsFile: boolean,
  ): Promise<DivertedJson> {
    const { signal } = context;
    const call = { method: 'GET' as const, path: jobPath(reference), signal, totalMs: OUTPUT_MS_MAX[kind] };
    try {
      return await this.http.exchange(call, 'call', async (response) => {
        if (response.status === NOT_FOUND || response.status === GONE) {
          throw new EngineError(RUN_LOST);
        }
        if (response.status !== 200) {
          throw new EngineError(engineFailureOfStatus(response.status, retryAfterMs(response.header)));
        }
        return await divertBase64(response.chunks, {
          member: 'b64_json',
          wants: (index) => wantsFile && index === 0,
          pathFor: () => join(context.folder, 'output-0.bin'),
          fileBytesMax: OUTPUT_BYTES_MAX[kind],
        });
      });
    } catch (error) {
      throw toEngineError(error);
    }
  }
}

function jobPath(reference: string): string {
  return `/sdcpp/v1/jobs/${encodeURIComponent(reference)}`;
}

/** Returns the length and format of a video. Omits what the server's command line sets. */
function videoOptionsOf(
  { seconds }: EngineRequest,
  settings: SdCppSettings,
  server: ServerAbilities | undefined,
): { video_frames?: number; fps?: number; output_format: string } {
  const canWebm = server?.videoFormats?.includes('webm') ?? true;
  const output_format = settings.video_format ?? (canWebm ? 'webm' : 'avi');
  const fps = settings.fps ?? server?.fps ?? FRAMES_PER_SECOND;
  if (seconds !== undefined) {
    return { video_frames: seconds * fps, fps, output_format };
  }
  // A server whose command line sets no length reports one frame.
  const hasOwn = (server?.videoFrames ?? 1) > 1;
  if (settings.video_frames === undefined && hasOwn) {
    return { ...(settings.fps === undefined ? {} : { fps }), output_format };
  }
  return { video_frames: settings.video_frames ?? VIDEO_FRAMES, fps, output_format };
}

function bodyOf(request: EngineRequest, settings: SdCppSettings, film: object | undefined): object {
  const { prompt, steps } = request;
  const sampling = { ...settings.sample_params, ...(steps === undefined ? {} : { sample_steps: steps }) };
  return {
    ...settings.extra,
    ...request.extra,
    prompt,
    ...(settings.negative_prompt === undefined ? {} : { negative_prompt: settings.negative_prompt }),
    ...fitSize(request, settings.size_multiple),
    seed: fitSeed(request.seed, settings.seed_max),
    sample_params: sampling,
    // Otherwise the file's text chunks would contain the prompt.
    ...(film ?? { batch_count: 1, output_format: 'png', embed_image_metadata: false }),
  };
}

function toStatus({ status, queue_position, error }: z.output<typeof job>): EngineStatus {
  switch (status) {
    case 'queued':
      return { state: 'queued', ...(queue_position == null ? {} : { queuePosition: queue_position }) };
    case 'generating':
      return { state: 'running' };
    case 'completed':
      return { state: 'succeeded', progress: 1 };
    case 'failed':
      return {
        state: 'failed',
        failure: withUpstreamMessage(
          /out of memory/i.test(error?.message ?? '') ? OUT_OF_MEMORY : UPSTREAM_ERROR,
          error?.message,
        ),
      };
    case 'cancelled':
      return { state: 'canceled' };
  }
}

import { join } from 'node:path';
import { z } from 'zod';
import type { FileContent } from '../../lib/file-content.ts';
import { OUTPUT_BYTES_MAX } from '../download-output.ts';
import {
  type EngineCapabilities,
  type EngineContext,
  EngineError,
  type EngineOutput,
  type EngineRequest,
  type EngineStatus,
} from '../engine.types.ts';
import { MALFORMED, NO_OUTPUT, RUN_LOST } from '../engine-failures.ts';
import { bearer, parseEngineSettings, toHttpSettings } from '../engine-settings.ts';
import { afterLongCall, downloadWithRetry, longCall, spent } from '../long-call.ts';
import { PollableRuns } from '../pollable-runs.ts';
import type { EngineKind } from '../registry.ts';
import { UpstreamEngine } from '../upstream-engine.ts';
import type { UpstreamHttp } from '../upstream-http.ts';
import { type OpenAiSettings, openAiSettings } from './openai-settings.ts';
import { requestBody, smallestCovering } from './request-body.ts';
import { refineByBody } from './upstream-error.ts';
import { VideoJobs } from './video-jobs.ts';

const imageAnswer = z.object({
  data: z.array(z.object({ b64_json: z.string().nullish(), url: z.string().nullish() })).max(16),
});

const POLL_INTERVAL_MS = 2_000;

/** The engine kind `openai` in tollgate.yaml: OpenAI's Images API and the Videos API that vLLM-Omni and SGLang serve. */
export const openAiKind: EngineKind = {
  slotsDefault: 1,
  create: (settings) => new OpenAiEngine(parseEngineSettings(openAiSettings, settings)),
};

/** Generates each image with one long call held in this process, and videos as jobs of the upstream. Neither accepts a caller-chosen id. */
export class OpenAiEngine extends UpstreamEngine<OpenAiSettings> {
  readonly capabilities = capabilitiesOf(this.settings);
  readonly #images = new PollableRuns();
  readonly #videos = new VideoJobs(this.http, this.settings);

  constructor(settings: OpenAiSettings) {
    const http = toHttpSettings(settings, bearer(settings.api_key));
    super(settings, { http, pollIntervalMs: POLL_INTERVAL_MS, readyPath: '/models' });
  }

  sizeError(size: Pick<EngineRequest, 'width' | 'height'>): string | undefined {
    const { id, sizes } = this.settings;
    return sizes && !smallestCovering(size, sizes)
      ? `engines.${id}.sizes has none as large as ${size.width}x${size.height}`
      : undefined;
  }

  async submit(request: EngineRequest, context: EngineContext): Promise<string> {
    if (request.kind === 'video') {
      return await this.#videos.submit(request, context);
    }
    context.signal.throwIfAborted();
    return this.#images.start(request, context, (signal) =>
      callForImage(this.http, this.settings, request, {
        signal,
        get folder() {
          return context.folder;
        },
      }),
    );
  }

  async poll(reference: string, _request: EngineRequest, context: EngineContext): Promise<EngineStatus> {
    return PollableRuns.owns(reference)
      ? await this.#images.poll(reference, context.signal)
      : await this.#videos.poll(reference, context);
  }

  async collect(reference: string, _request: EngineRequest, context: EngineContext): Promise<EngineOutput[]> {
    if (!PollableRuns.owns(reference)) {
      return await this.#videos.collect(reference, context);
    }
    const file = this.#images.take(reference);
    if (file === undefined) {
      throw new EngineError(RUN_LOST);
    }
    return [{ index: 0, file }];
  }

  async cancel(reference: string): Promise<'requested' | 'unsupported'> {
    if (!PollableRuns.owns(reference)) {
      return await this.#videos.cancel(reference);
    }
    await this.#images.cancel(reference);
    return 'requested';
  }

  override async close(): Promise<void> {
    await this.#images.close();
    await super.close();
  }
}

/** Closing the connection stops a free image; a paid one is billed anyway. Videos stop if the upstream supports DELETE. */
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

/**
 * Generates one image with POST /images/generations (OpenAI API reference, Images). A large or downloaded image is saved in
 * `context.folder`. Throws EngineError, or the signal's reason. Retries the download, so a paid result is not lost to a single failure.
 */
async function callForImage(
  http: UpstreamHttp,
  settings: OpenAiSettings,
  request: EngineRequest,
  context: Pick<EngineContext, 'folder' | 'signal'>,
): Promise<FileContent> {
  const { signal } = context;
  const pathFor = () => join(context.folder, 'output-0.bin');
  const call = {
    method: 'POST' as const,
    path: settings.image_path,
    json: requestBody(request, settings),
    signal,
    firstByteMs: settings.image_timeout_ms,
    totalMs: settings.image_timeout_ms,
  };
  const answered = await longCall(http, call, {
    ...{ paid: settings.paid, refine: refineByBody },
    ...{ member: 'b64_json', pathFor, fileBytesMax: OUTPUT_BYTES_MAX.image },
  });
  const [file] = answered.files;
  // Servers written in Go send an empty b64_json beside a URL.
  if (file !== undefined && file.length > 0) {
    return file;
  }
  const parsed = imageAnswer.safeParse(answered.json);
  const url = parsed.data?.data[0]?.url;
  if (!parsed.success || !url) {
    throw new EngineError(spent(settings.paid, parsed.success ? NO_OUTPUT : MALFORMED));
  }
  return await afterLongCall(settings.paid, signal, async () => {
    const path = pathFor();
    // Some servers name their files by relative URLs.
    const from = URL.canParse(url, http.base.href) ? new URL(url, http.base.href).href : url;
    await downloadWithRetry(http, { from, path, kind: 'image', signal });
    return path;
  });
}

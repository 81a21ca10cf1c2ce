import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { FileContent } from '../../lib/file-content.ts';
import { type DivertedJson, divertBase64 } from '../divert-base64.ts';
import { downloadOutput, OUTPUT_BYTES_MAX } from '../download-output.ts';
import { type EngineContext, EngineError, type EngineRequest } from '../engine.types.ts';
import {
  engineFailureOfStatus,
  failureOf,
  leavesOpen,
  MALFORMED,
  NO_OUTPUT,
  SUBMIT_UNCONFIRMED,
  withWords,
} from '../engine-failures.ts';
import type { UpstreamHttp } from '../upstream-http.ts';
import { TransportError } from '../upstream-transport.ts';
import type { OpenAiSettings } from './openai-settings.ts';
import { requestBody } from './request-body.ts';
import { refineByBody } from './upstream-error.ts';

const answer = z.object({
  data: z.array(z.object({ b64_json: z.string().nullish(), url: z.string().nullish() })).max(16),
});

const DOWNLOADS_MAX = 3;
const DOWNLOAD_PAUSE_MS = 250;

interface Answered extends DivertedJson {
  readonly status: number;
  readonly retryAfter: string | undefined;
}

/**
 * Makes one image with POST /images/generations (OpenAI API reference, Images); a large or downloaded one lies in `context.folder`.
 * Throws EngineError, or the signal's reason. A paid answer is never thrown away for want of a second try at its download.
 */
export async function callForImage(
  http: UpstreamHttp,
  settings: OpenAiSettings,
  request: EngineRequest,
  context: Pick<EngineContext, 'folder' | 'signal'>,
): Promise<FileContent> {
  const { signal } = context;
  const pathFor = () => join(context.folder, 'output-0.bin');
  const answered = await ask(http, settings, request, { pathFor, signal });
  const [file] = answered.files;
  if (file !== undefined) {
    return file;
  }
  const path = pathFor();
  const parsed = answer.safeParse(answered.json);
  const url = parsed.data?.data[0]?.url;
  if (!parsed.success || !url) {
    throw new EngineError(spent(settings, parsed.success ? NO_OUTPUT : MALFORMED));
  }
  try {
    // Some servers name their files relative to themselves.
    const from = URL.canParse(url, http.base.href) ? new URL(url, http.base.href).href : url;
    await downloadPatiently(http, from, path, signal);
  } catch (error) {
    signal.throwIfAborted();
    throw new EngineError(spent(settings, failureOf(error)), { cause: error });
  }
  return path;
}

/** Failures after the upstream did its work: another attempt would pay again. */
function spent(settings: OpenAiSettings, failure: EngineError['failure']): EngineError['failure'] {
  return { ...failure, retryable: failure.retryable && !settings.paid };
}

async function ask(
  http: UpstreamHttp,
  settings: OpenAiSettings,
  request: EngineRequest,
  { pathFor, signal }: { pathFor: () => string; signal: AbortSignal },
): Promise<Answered> {
  const call = {
    method: 'POST' as const,
    path: settings.image_path,
    json: requestBody(request, settings),
    signal,
    firstByteMs: settings.image_timeout_ms,
    totalMs: settings.image_timeout_ms,
  };
  let answered: Answered;
  try {
    // A picture that costs nothing may be made twice, and so its call may go over a connection that is there already.
    answered = await http.exchange(call, settings.paid ? 'submit' : 'call', async (response) => ({
      status: response.status,
      retryAfter: response.header('retry-after'),
      ...(await divertBase64(response.chunks, {
        member: 'b64_json',
        wants: (index) => index === 0,
        pathFor,
        fileBytesMax: OUTPUT_BYTES_MAX.image,
      })),
    }));
  } catch (error) {
    signal.throwIfAborted();
    throw settled(settings, error);
  }
  return accept(settings, answered);
}

function settled(settings: OpenAiSettings, error: unknown): unknown {
  if (error instanceof TransportError) {
    return settings.paid && error.sent
      ? new EngineError(SUBMIT_UNCONFIRMED, { cause: error })
      : error.toEngineError();
  }
  return error instanceof EngineError ? new EngineError(spent(settings, error.failure)) : error;
}

function accept(settings: OpenAiSettings, answered: Answered): Answered {
  const { status, retryAfter, json } = answered;
  if (settings.paid && leavesOpen(status, retryAfter)) {
    throw new EngineError(SUBMIT_UNCONFIRMED);
  }
  if (status < 200 || status >= 300) {
    const failure = withWords(
      engineFailureOfStatus(status, retryAfter, Date.now()),
      `${status} ${JSON.stringify(json) ?? ''}`,
    );
    throw new EngineError(refineByBody(failure, json));
  }
  return answered;
}

async function downloadPatiently(
  http: UpstreamHttp,
  from: string,
  path: string,
  signal: AbortSignal,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await downloadOutput(http, { from, path, kind: 'image', signal, otherHosts: true });
      return;
    } catch (error) {
      if (attempt >= DOWNLOADS_MAX || !failureOf(error).retryable) {
        throw error;
      }
    }
    await delay(DOWNLOAD_PAUSE_MS * attempt, undefined, { signal });
  }
}

import { join } from 'node:path';
import { z } from 'zod';
import type { FileContent } from '../../lib/file-content.ts';
import { OUTPUT_BYTES_MAX } from '../download-output.ts';
import { type EngineContext, EngineError, type EngineRequest } from '../engine.types.ts';
import { failureOf, MALFORMED, NO_OUTPUT } from '../engine-failures.ts';
import { downloadPatiently, longCall, spent } from '../long-call.ts';
import type { UpstreamHttp } from '../upstream-http.ts';
import type { OpenAiSettings } from './openai-settings.ts';
import { requestBody } from './request-body.ts';
import { refineByBody } from './upstream-error.ts';

const answer = z.object({
  data: z.array(z.object({ b64_json: z.string().nullish(), url: z.string().nullish() })).max(16),
});

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
  if (file !== undefined) {
    return file;
  }
  const path = pathFor();
  const parsed = answer.safeParse(answered.json);
  const url = parsed.data?.data[0]?.url;
  if (!parsed.success || !url) {
    throw new EngineError(spent(settings.paid, parsed.success ? NO_OUTPUT : MALFORMED));
  }
  try {
    // Some servers name their files relative to themselves.
    const from = URL.canParse(url, http.base.href) ? new URL(url, http.base.href).href : url;
    await downloadPatiently(http, { from, path, kind: 'image', signal });
  } catch (error) {
    signal.throwIfAborted();
    throw new EngineError(spent(settings.paid, failureOf(error)), { cause: error });
  }
  return path;
}

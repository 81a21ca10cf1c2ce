import { open, rm, writeFile } from 'node:fs/promises';
import { NotPublicError, rejectPrivateLiteral } from '../lib/ip-address.ts';
import { retryAfterMs } from '../upstream/retry-after.ts';
import { EngineError, type EngineFailure, type EngineRequest, onScratchDisk } from './engine.types.ts';
import { engineFailureOfStatus } from './engine-failures.ts';
import { toEngineError } from './transport-failure.ts';
import type { UpstreamResponse } from './upstream-answer.ts';
import type { UpstreamHttp } from './upstream-http.ts';

/** Maximum size of one output file in bytes, by kind of task. */
export const OUTPUT_BYTES_MAX: Readonly<Record<EngineRequest['kind'], number>> = {
  image: 32 * 1024 * 1024,
  video: 512 * 1024 * 1024,
};

/** Maximum time to download one output file in ms, by kind of task. */
export const OUTPUT_MS_MAX: Readonly<Record<EngineRequest['kind'], number>> = {
  image: 120_000,
  video: 900_000,
};

export interface OutputDownload {
  /**
   * A path below the base URL, or an absolute URL. It and its redirects may lead to other hosts, which never see our headers. Some services
   * send small files as data URLs.
   */
  readonly from: string;
  /** The file to write. Deleted when the download fails. */
  readonly path: string;
  readonly kind: EngineRequest['kind'];
  readonly signal: AbortSignal;
  /** Overrides {@link OUTPUT_BYTES_MAX}. */
  readonly bytesMax?: number;
}

export const OUTPUT_UNAVAILABLE: EngineFailure = {
  code: 'output_unavailable',
  message: 'the output could not be downloaded from the engine',
  retryable: true,
};

const TOO_LARGE: EngineFailure = {
  code: 'output_too_large',
  message: 'the output exceeds the maximum size',
  retryable: false,
};

const REFUSED: EngineFailure = {
  code: 'output_refused',
  message: 'the output is at an address that we do not download from',
  retryable: false,
};

const REDIRECTS_MAX = 3;
const DATA_URL = /^data:[^,]{0,256};base64,/i;
/** Statuses of an output that no longer exists, or needs a fresh URL. */
const GONE = new Set([401, 403, 404, 410]);

/**
 * Streams one output of a finished run into a file. Limits its size and time but does not check its type. Throws EngineError
 * (`output_unavailable`, `output_too_large`, `output_refused`, …), ScratchDiskError, or the signal's reason.
 */
export async function downloadOutput(http: UpstreamHttp, download: OutputDownload): Promise<void> {
  const [head] = DATA_URL.exec(download.from) ?? [];
  if (head !== undefined) {
    await writeDecoded(download.from.slice(head.length), download);
    return;
  }
  if (!download.from.startsWith('/') && !URL.canParse(download.from)) {
    throw new EngineError(REFUSED);
  }
  let url = http.urlOf(download.from);
  for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects += 1) {
    checkPlace(http, url);
    const next = await fetchInto(http, url, download);
    if (next === undefined) {
      return;
    }
    url = next;
  }
  throw new EngineError(REFUSED);
}

/** Returns the target of a redirect, or undefined once the file is written. */
async function fetchInto(http: UpstreamHttp, url: URL, download: OutputDownload): Promise<URL | undefined> {
  const { path, kind, signal } = download;
  // The file is not JSON: strict gateways reject requests that accept only JSON.
  const headers = { accept: '*/*', ...credentialsOf(url) };
  const call = { method: 'GET' as const, path: url.href, headers, signal, totalMs: OUTPUT_MS_MAX[kind] };
  try {
    return await http.exchange(call, 'call', async (response) => {
      const { status } = response;
      const location = response.header('location');
      if (status >= 300 && status < 400 && location !== undefined && URL.canParse(location, url.href)) {
        return new URL(location, url);
      }
      if (status !== 200) {
        throw new EngineError(
          GONE.has(status)
            ? OUTPUT_UNAVAILABLE
            : engineFailureOfStatus(status, retryAfterMs(response.header)),
        );
      }
      await writeBody(response, path, download.bytesMax ?? OUTPUT_BYTES_MAX[kind]);
      return undefined;
    });
  } catch (error) {
    throw toEngineError(error);
  }
}

/** Returns the header for the name and password in a URL, as browsers and curl send it. */
function credentialsOf({ username, password }: URL): { authorization?: string } {
  if (username === '' && password === '') {
    return {};
  }
  const pair = `${unescapedText(username)}:${unescapedText(password)}`;
  return { authorization: `Basic ${Buffer.from(pair).toString('base64')}` };
}

function unescapedText(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

async function writeDecoded(base64: string, { path, kind, bytesMax }: OutputDownload): Promise<void> {
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length > (bytesMax ?? OUTPUT_BYTES_MAX[kind])) {
    throw new EngineError(TOO_LARGE);
  }
  if (bytes.length === 0) {
    throw new EngineError(OUTPUT_UNAVAILABLE);
  }
  await onScratchDisk(() => writeFile(path, bytes));
}

async function writeBody(response: UpstreamResponse, path: string, bytesMax: number): Promise<void> {
  if (Number(response.header('content-length') ?? 0) > bytesMax) {
    throw new EngineError(TOO_LARGE);
  }
  const file = await onScratchDisk(() => open(path, 'w'));
  let bytes = 0;
  try {
    for await (const chunk of response.chunks) {
      bytes += chunk.length;
      if (bytes > bytesMax) {
        throw new EngineError(TOO_LARGE);
      }
      await onScratchDisk(() => file.writeFile(chunk));
    }
  } catch (error) {
    await file.close();
    await rm(path, { force: true });
    throw error;
  }
  await onScratchDisk(() => file.close());
  if (bytes === 0) {
    throw new EngineError(OUTPUT_UNAVAILABLE);
  }
}

function checkPlace(http: UpstreamHttp, url: URL): void {
  const isWeb = url.protocol === 'https:' || url.protocol === 'http:';
  const isEngine = url.origin === http.base.origin;
  if (!isWeb) {
    throw new EngineError(REFUSED);
  }
  if (isEngine || http.privateDownloads) {
    return;
  }
  // The addresses of the engine's hostname are not checked on resolution, so URLs must not reach other services on that host.
  if (url.hostname === http.base.hostname) {
    throw new EngineError(REFUSED);
  }
  try {
    rejectPrivateLiteral(url);
  } catch (cause) {
    throw cause instanceof NotPublicError ? new EngineError(REFUSED, { cause }) : cause;
  }
}

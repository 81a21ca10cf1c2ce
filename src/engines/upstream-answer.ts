import { toUSVString } from 'node:util';
import { textOf } from '../upstream/read-body.ts';
import { retryAfterMs } from '../upstream/retry-after.ts';
import type { EngineFailure } from './engine.types.ts';
import { engineFailureOfStatus, withUpstreamMessage } from './engine-failures.ts';

/** The status and headers of a response whose body is still to be read. */
export interface UpstreamResponse {
  readonly status: number;
  header(name: string): string | undefined;
  /** The body without content codings; can be read once. */
  readonly chunks: AsyncIterable<Buffer>;
  /** Reads the whole body. Throws TransportError when it exceeds `bytesMax`. */
  whole(bytesMax: number): Promise<Buffer>;
}

/** A response of any status. For one outside 2xx, `failure` says what it means. */
export interface UpstreamAnswer {
  readonly status: number;
  readonly json: unknown;
  readonly retryAfterMs: number | undefined;
  readonly failure: EngineFailure | undefined;
}

const ANSWER_BYTES_MAX = 4 * 1024 * 1024;

/**
 * Returns whether the status of a GET is that of a working server: any below 500. At `/`, which services need not have, only a proxy's
 * word that the server behind it is away counts: 502 to 504, and Cloudflare's from 520 on.
 */
export function isAlive(path: string, status: number): boolean {
  const isOfProxy = (status >= 502 && status <= 504) || status >= 520;
  return status < 500 || (path === '/' && !isOfProxy);
}

/** Reads a response with a JSON body; `json` is undefined for any other body. Throws TransportError when it exceeds 4 MiB. */
export async function readAnswer(response: UpstreamResponse): Promise<UpstreamAnswer> {
  const { status } = response;
  const text = textOf(await response.whole(ANSWER_BYTES_MAX));
  const json = parseJson(text);
  const askedMs = retryAfterMs(response.header);
  const isFine = status >= 200 && status < 300;
  const failure = isFine
    ? undefined
    : withUpstreamMessage(engineFailureOfStatus(status, askedMs), `${status} ${text}`);
  return { status, json, retryAfterMs: askedMs, failure };
}

/** Returns the JSON in a text, with U+FFFD for halves of characters, which no URL can hold; undefined if it is none. */
export function parseJson(text: string): unknown {
  try {
    return text.includes('\\u') ? JSON.parse(text, wellFormed) : JSON.parse(text);
  } catch {
    return undefined;
  }
}

function wellFormed(_name: string, value: unknown): unknown {
  return typeof value === 'string' ? toUSVString(value) : value;
}

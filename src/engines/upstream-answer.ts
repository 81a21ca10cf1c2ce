import { retryAfterMs } from '../upstream/retry-after.ts';
import type { EngineFailure } from './engine.types.ts';
import { engineFailureOfStatus, withWords } from './engine-failures.ts';

/** The head of an answer, with its body still to come. */
export interface UpstreamResponse {
  readonly status: number;
  header(name: string): string | undefined;
  /** The body; can be read once. */
  readonly chunks: AsyncIterable<Buffer>;
  /** The same as a whole. Throws TransportError when it has more bytes. */
  whole(bytesMax: number): Promise<Buffer>;
}

/** An answer outside 2xx is one, too: `failure` says what it means. */
export interface UpstreamAnswer {
  readonly status: number;
  readonly json: unknown;
  readonly retryAfterMs: number | undefined;
  readonly failure: EngineFailure | undefined;
}

const ANSWER_BYTES_MAX = 4 * 1024 * 1024;

/** Reads an answer whose body is JSON; anything else is undefined. Throws TransportError for one of more than 4 MiB. */
export async function readAnswer(response: UpstreamResponse): Promise<UpstreamAnswer> {
  const { status } = response;
  const text = (await response.whole(ANSWER_BYTES_MAX)).toString('utf8');
  const json = parse(text);
  const askedMs = retryAfterMs(response.header);
  const isFine = status >= 200 && status < 300;
  const failure = isFine ? undefined : withWords(engineFailureOfStatus(status, askedMs), `${status} ${text}`);
  return { status, json, retryAfterMs: askedMs, failure };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

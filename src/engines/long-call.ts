import { setTimeout as delay } from 'node:timers/promises';
import { retryAfterMs } from '../upstream/retry-after.ts';
import { TransportError } from '../upstream/transport-error.ts';
import { type Diversion, type DivertedJson, divertBase64 } from './divert-base64.ts';
import { downloadOutput, type OutputDownload } from './download-output.ts';
import { EngineError, type EngineFailure } from './engine.types.ts';
import {
  ENGINE_AWAY,
  engineFailureOfStatus,
  failureOf,
  leavesOpen,
  SUBMIT_UNCONFIRMED,
  withWords,
} from './engine-failures.ts';
import { toEngineError } from './transport-failure.ts';
import type { UpstreamResponse } from './upstream-answer.ts';
import type { EngineCall, UpstreamHttp } from './upstream-http.ts';

const DOWNLOADS_MAX = 3;
const DOWNLOAD_PAUSE_MS = 250;

export interface LongCall {
  /** Whether the upstream bills every call it takes. */
  readonly paid: boolean;
  /** Name of the members that hold the file in base64; the first is kept. */
  readonly member: string;
  /** Where a large file goes. */
  readonly pathFor: () => string;
  /** Most bytes of the file. */
  readonly fileBytesMax: number;
  /** Tells more of a refusal by its body. */
  readonly refine: (failure: EngineFailure, json: unknown) => EngineFailure;
}

/** An answer of any status, with its files beside it. */
export interface FiledAnswer extends DivertedJson {
  readonly status: number;
  readonly failure: EngineFailure | undefined;
  readonly retryAfterMs: number | undefined;
}

/**
 * Orders something by one call whose answer is the result. Throws EngineError, or the signal's reason; what was paid for is never asked
 * for a second time.
 */
export async function longCall(http: UpstreamHttp, call: EngineCall, long: LongCall): Promise<DivertedJson> {
  const { paid, refine, member, pathFor, fileBytesMax } = long;
  const diversion = { member, pathFor, fileBytesMax, wants: (index: number) => index === 0 };
  let answer: FiledAnswer;
  try {
    // What costs nothing may be made twice, and so its call may go over a connection that is there already.
    answer = await http.exchange(call, paid ? 'submit' : 'call', (response) =>
      readFiled(response, diversion),
    );
  } catch (error) {
    call.signal?.throwIfAborted();
    throw settled(paid, error);
  }
  if (paid && leavesOpen(answer.status, answer.retryAfterMs)) {
    throw new EngineError(withWords(SUBMIT_UNCONFIRMED, answer.failure?.said));
  }
  if (answer.failure) {
    throw new EngineError(withWords(refine(answer.failure, answer.json), answer.failure.said));
  }
  return answer;
}

/** Reads an answer whose files are in it. Throws as {@link divertBase64} does. */
export async function readFiled(response: UpstreamResponse, diversion: Diversion): Promise<FiledAnswer> {
  const { status } = response;
  const askedMs = retryAfterMs(response.header);
  const diverted = await divertBase64(response.chunks, diversion);
  const isFine = status >= 200 && status < 300;
  const words = `${status} ${JSON.stringify(diverted.json) ?? ''}`;
  const failure = isFine ? undefined : withWords(engineFailureOfStatus(status, askedMs), words);
  return { ...diverted, status, retryAfterMs: askedMs, failure };
}

/** A failure after the upstream did its work: another attempt would pay again. */
export function spent(paid: boolean, failure: EngineFailure): EngineFailure {
  return { ...failure, retryable: failure.retryable && !paid };
}

/** {@link downloadOutput}, tried again: the next attempt would have to order anew. */
export async function downloadPatiently(http: UpstreamHttp, download: OutputDownload): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await downloadOutput(http, download);
      return;
    } catch (error) {
      if (attempt >= DOWNLOADS_MAX || !failureOf(error).retryable) {
        throw error;
      }
    }
    await delay(DOWNLOAD_PAUSE_MS * attempt, undefined, { signal: download.signal });
  }
}

function settled(paid: boolean, error: unknown): unknown {
  if (error instanceof TransportError) {
    return paid && error.sent ? new EngineError(SUBMIT_UNCONFIRMED, { cause: error }) : toEngineError(error);
  }
  // an engine that is away was asked for nothing, e.g. where nobody could sign the call
  const isAway = error instanceof EngineError && ENGINE_AWAY.has(error.failure.code);
  return error instanceof EngineError && !isAway ? new EngineError(spent(paid, error.failure)) : error;
}

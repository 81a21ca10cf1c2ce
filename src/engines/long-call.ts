import { setTimeout as delay } from 'node:timers/promises';
import { retryAfterMs } from '../upstream/retry-after.ts';
import { TransportError } from '../upstream/transport-error.ts';
import { type Diversion, type DivertedJson, divertBase64 } from './divert-base64.ts';
import { downloadOutput, type OutputDownload } from './download-output.ts';
import { EngineError, type EngineFailure, ScratchDiskError } from './engine.types.ts';
import {
  ENGINE_AWAY,
  engineFailureOfStatus,
  failureOf,
  isOutcomeUnknown,
  SUBMIT_UNCONFIRMED,
  withUpstreamMessage,
} from './engine-failures.ts';
import { toEngineError } from './transport-failure.ts';
import type { UpstreamResponse } from './upstream-answer.ts';
import type { EngineCall, UpstreamHttp } from './upstream-http.ts';

/** Ms before each further download. A service may name its file seconds before its file servers have it. */
const DOWNLOAD_PAUSES_MS = [250, 750, 2_000, 4_000];

export interface LongCall {
  /** Whether the upstream bills every call it accepts. */
  readonly paid: boolean;
  /** The name of the JSON members that hold a base64 file. Only the first file is kept. */
  readonly member: string;
  /** Returns the path for a file too large for memory. */
  readonly pathFor: () => string;
  /** Maximum size of the file, in bytes. */
  readonly fileBytesMax: number;
  /** Makes a failure more specific, based on the response body. */
  readonly refine: (failure: EngineFailure, json: unknown) => EngineFailure;
}

/** A response of any status, with its files separated from the JSON. */
export interface FiledAnswer extends DivertedJson {
  readonly status: number;
  readonly failure: EngineFailure | undefined;
  readonly retryAfterMs: number | undefined;
}

/** Makes a call whose response is the finished result. Throws EngineError, or the signal's reason; never repeats work that was paid for. */
export async function longCall(http: UpstreamHttp, call: EngineCall, long: LongCall): Promise<DivertedJson> {
  const { paid, refine, member, pathFor, fileBytesMax } = long;
  const diversion = { member, pathFor, fileBytesMax, wants: (index: number) => index === 0 };
  let answer: FiledAnswer;
  try {
    // Free work may be done twice, so its call may reuse a kept connection.
    answer = await http.exchange(call, paid ? 'submit' : 'call', (response) =>
      readFiled(response, diversion),
    );
  } catch (error) {
    call.signal?.throwIfAborted();
    throw settled(paid, error);
  }
  if (paid && isOutcomeUnknown(answer.status, answer.retryAfterMs)) {
    throw new EngineError(withUpstreamMessage(SUBMIT_UNCONFIRMED, answer.failure?.said));
  }
  if (answer.failure) {
    throw new EngineError(withUpstreamMessage(refine(answer.failure, answer.json), answer.failure.said));
  }
  return answer;
}

/** Reads a response that contains its files. Throws what {@link divertBase64} throws. */
export async function readFiled(response: UpstreamResponse, diversion: Diversion): Promise<FiledAnswer> {
  const { status } = response;
  const askedMs = retryAfterMs(response.header);
  const diverted = await divertBase64(response.chunks, diversion);
  const isFine = status >= 200 && status < 300;
  const words = `${status} ${JSON.stringify(diverted.json) ?? ''}`;
  const failure = isFine ? undefined : withUpstreamMessage(engineFailureOfStatus(status, askedMs), words);
  return { ...diverted, status, retryAfterMs: askedMs, failure };
}

/** Returns a failure that happened after the upstream did its work. Not retryable when paid: another attempt would pay again. */
export function spent(paid: boolean, failure: EngineFailure): EngineFailure {
  return { ...failure, retryable: failure.retryable && !paid };
}

/** Does what follows a long call that succeeded. Throws EngineError, not retryable when the call was paid, or the signal's reason. */
export async function afterLongCall<T>(
  paid: boolean,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    signal.throwIfAborted();
    throw new EngineError(spent(paid, failureOf(error)), { cause: error });
  }
}

/** Calls {@link downloadOutput} up to five times in seven seconds, because a new attempt of the task would have to repeat the work. */
export async function downloadWithRetry(http: UpstreamHttp, download: OutputDownload): Promise<void> {
  for (const pauseMs of DOWNLOAD_PAUSES_MS) {
    try {
      await downloadOutput(http, download);
      return;
    } catch (error) {
      if (!failureOf(error).retryable) {
        throw error;
      }
    }
    await delay(pauseMs, undefined, { signal: download.signal });
  }
  await downloadOutput(http, download);
}

function settled(paid: boolean, error: unknown): unknown {
  if (error instanceof TransportError) {
    return paid && error.sent ? new EngineError(SUBMIT_UNCONFIRMED, { cause: error }) : toEngineError(error);
  }
  if (error instanceof ScratchDiskError) {
    return new EngineError(spent(paid, failureOf(error)), { cause: error });
  }
  // No request reached an engine that is away, e.g. because the call could not be signed.
  const isAway = error instanceof EngineError && ENGINE_AWAY.has(error.failure.code);
  return error instanceof EngineError && !isAway ? new EngineError(spent(paid, error.failure)) : error;
}

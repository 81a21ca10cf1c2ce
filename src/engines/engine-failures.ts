import { EngineError, type EngineFailure, ScratchDiskError } from './engine.types.ts';

/** The upstream does not know the run, e.g. because it has restarted. The task path acts on this code. */
export const RUN_LOST: EngineFailure = {
  code: 'run_lost',
  message: 'the engine no longer knows this run',
  retryable: true,
};

/** A submit whose answer was lost, at an upstream that cannot be asked about it. The task path acts on this code. */
export const SUBMIT_UNCONFIRMED: EngineFailure = {
  code: 'submit_unconfirmed',
  message: 'it is unknown whether the engine accepted this task',
  retryable: false,
};

export const CONTENT_REFUSED: EngineFailure = {
  code: 'content_refused',
  message: 'the engine refused the content of this request',
  retryable: false,
};

export const OUT_OF_MEMORY: EngineFailure = {
  code: 'out_of_memory',
  message: 'the engine ran out of memory',
  retryable: true,
};

export const UPSTREAM_ERROR: EngineFailure = {
  code: 'upstream_error',
  message: 'the engine failed',
  retryable: true,
};

export const MALFORMED: EngineFailure = {
  code: 'upstream_malformed',
  message: 'the engine returned a malformed response',
  retryable: true,
};

export const NO_OUTPUT: EngineFailure = {
  code: 'no_output',
  message: 'the engine finished without an output',
  retryable: false,
};

/** A problem the operator has to fix, not one of the request: a key, a quota, a missing file or node. */
export const MISCONFIGURED: EngineFailure = {
  code: 'upstream_misconfigured',
  message: 'the engine rejected our credentials or configuration',
  retryable: false,
};

const REJECTED: EngineFailure = {
  code: 'upstream_rejected',
  message: 'the engine rejected the request',
  retryable: false,
};

/** An engine on this host that is still starting, or has exited and not been restarted. */
export const NOT_RUNNING: EngineFailure = {
  code: 'engine_not_running',
  message: 'the engine on this host is not running',
  retryable: true,
};

/** An engine that accepts no connections. */
export const UNREACHABLE: EngineFailure = {
  code: 'upstream_unreachable',
  message: 'the engine cannot be reached',
  retryable: true,
};

/** A call that was not answered in time. */
export const TIMED_OUT: EngineFailure = {
  code: 'upstream_timeout',
  message: 'the engine did not answer in time',
  retryable: true,
};

/** A run that took longer than its pool allows. The task path acts on this code. */
export const RUN_TOO_LONG: EngineFailure = {
  code: 'engine_timeout',
  message: 'the engine took too long',
  retryable: true,
};

/** A run that the engine reports as canceled. The task path acts on this code. */
export const RUN_CANCELED: EngineFailure = {
  code: 'upstream_canceled',
  message: 'the engine says the run was canceled',
  retryable: true,
};

/** An engine that accepts connections but never responds: it is stopped or stuck. */
export const NOT_ANSWERING: EngineFailure = {
  code: 'engine_not_answering',
  message: 'the engine does not respond',
  retryable: true,
};

/** The engine made a file that this host could not write. */
const OUTPUT_UNWRITTEN: EngineFailure = {
  code: 'output_unwritten',
  message: 'the output could not be written to the scratch disk',
  retryable: true,
};

/** Codes of an engine that is away: no request reached it, so none can have failed. */
export const ENGINE_AWAY: ReadonlySet<string> = new Set([
  UNREACHABLE.code,
  NOT_RUNNING.code,
  NOT_ANSWERING.code,
]);

/** Codes of a run that ended because its engine did. */
export const INTERRUPTED: ReadonlySet<string> = new Set([RUN_LOST.code]);

const BY_STATUS: Readonly<Record<number, EngineFailure>> = {
  400: REJECTED,
  401: MISCONFIGURED,
  402: MISCONFIGURED,
  403: MISCONFIGURED,
  404: MISCONFIGURED,
  405: MISCONFIGURED,
  413: REJECTED,
  415: MISCONFIGURED,
  422: REJECTED,
};

const TOO_MANY_REQUESTS = 429;
const UNAVAILABLE = 503;
/** Wait after a 429 without Retry-After, in ms. */
const RETRY_AFTER_DEFAULT_MS = 5_000;
const RETRY_AFTER_MIN_MS = 500;

/** Returns what an HTTP status outside 2xx means for the task. `askedMs` is the wait that the response asks for, in ms. */
export function engineFailureOfStatus(status: number, askedMs: number | undefined): EngineFailure {
  const retryAfterMs = askedMs === undefined ? undefined : Math.max(RETRY_AFTER_MIN_MS, askedMs);
  if (status === TOO_MANY_REQUESTS) {
    return {
      code: 'upstream_rate_limited',
      message: 'the engine is not accepting more work right now',
      retryable: true,
      retryAfterMs: retryAfterMs ?? RETRY_AFTER_DEFAULT_MS,
    };
  }
  if (status === UNAVAILABLE && retryAfterMs !== undefined) {
    const message = 'the engine is busy';
    return { code: 'upstream_busy', message, retryable: true, retryAfterMs };
  }
  return BY_STATUS[status] ?? UPSTREAM_ERROR;
}

/** Maximum number of characters of an upstream's message that are passed on. */
const SAID_MAX = 2_000;

/** Returns the failure with the upstream's own message added, if there is one. */
export function withUpstreamMessage(failure: EngineFailure, said: string | null | undefined): EngineFailure {
  return said ? { ...failure, said: said.slice(0, SAID_MAX) } : failure;
}

/**
 * Returns whether a response with this status leaves it unknown if the request was accepted. A 429, or a 503 with Retry-After, does not.
 */
export function isOutcomeUnknown(status: number, retryAfterMs: number | undefined): boolean {
  const askedToComeBack = status === UNAVAILABLE && retryAfterMs !== undefined;
  return (status >= 500 && !askedToComeBack) || (status >= 300 && status < 400);
}

/** Returns the failure for a thrown value: one that is neither ours nor the disk's is an upstream error without details. */
export function failureOf(error: unknown): EngineFailure {
  if (error instanceof ScratchDiskError) {
    return withUpstreamMessage(OUTPUT_UNWRITTEN, error.message);
  }
  return error instanceof EngineError ? error.failure : UPSTREAM_ERROR;
}

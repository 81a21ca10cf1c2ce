import { setTimeout as delay } from 'node:timers/promises';
import {
  type Engine,
  type EngineContext,
  EngineError,
  type EngineFailure,
  type EngineRequest,
  type EngineStatus,
} from '../engines/engine.types.ts';
import {
  NOT_ANSWERING,
  RUN_CANCELED,
  RUN_LOST,
  SUBMIT_UNCONFIRMED,
  TIMED_OUT,
} from '../engines/engine-failures.ts';
import { withDeadline } from '../lib/deadline.ts';
import { MEDIA_CORRUPT } from '../media/media-error.ts';
import { persist } from './outage-retry.ts';
import { TaskAbortError } from './task-abort.ts';
import type { ClaimedRun, TaskClaimsStore } from './task-claims.store.ts';
import { readOrder } from './task-parameters.ts';

/** Consecutive polls that may fail before the attempt does. */
const POLL_FAILURES_MAX = 5;
/** Ms that an engine has to show it is alive after it did not answer a poll. */
const READY_MS = 5_000;
/** Ms that an engine has to confirm that it stopped a run. */
const CANCEL_TIMEOUT_MS = 10_000;

/** A failed run. `runIsOver` says whether it is certain that nothing of it continues upstream. */
export class RunFailureError extends Error {
  override readonly name = 'RunFailureError';
  readonly failure: EngineFailure;
  readonly runIsOver: boolean;

  constructor(failure: EngineFailure, runIsOver: boolean, cause?: unknown) {
    super(failure.message, { cause });
    this.failure = failure;
    this.runIsOver = runIsOver;
  }
}

export interface RunParts {
  readonly task: ClaimedRun;
  readonly engine: Engine;
  readonly request: EngineRequest;
  readonly context: EngineContext;
  readonly claims: Pick<TaskClaimsStore, 'markSubmitting' | 'storeReference'>;
  /** Called with the reference as soon as there is one. */
  readonly onReference: (reference: string) => void;
  /** Called with the answer to each poll. */
  readonly onStatus?: ((status: EngineStatus) => void) | undefined;
}

/** Returns what a claimed task asks of its engine, including what its route adds. */
export function requestOf(task: ClaimedRun, extra: EngineRequest['extra']): EngineRequest {
  const { prompt, width, height, steps, seconds, upstreamModel } = readOrder(task.parameters);
  return {
    taskId: task.id,
    attempt: task.attempt,
    kind: task.kind,
    model: upstreamModel,
    prompt,
    seed: task.seed,
    width,
    height,
    steps,
    seconds,
    extra,
    endedRuns: task.endedRuns,
    again: task.lastFailure === MEDIA_CORRUPT,
  };
}

/**
 * Runs the task on its engine until its outputs can be collected. Continues what an earlier attempt began, and submits only where
 * that cannot cause a second charge. Throws RunFailureError, or the signal's reason.
 */
export async function runOnEngine(parts: RunParts): Promise<{ reference: string; status: EngineStatus }> {
  const { task } = parts;
  if (task.engineReference !== null) {
    parts.onReference(task.engineReference);
    try {
      return { reference: task.engineReference, status: await pollUntilDone(parts, task.engineReference) };
    } catch (error) {
      if (!(error instanceof RunFailureError && error.failure.code === RUN_LOST.code && !isPaid(parts))) {
        throw error;
      }
    }
  }
  const reference = await recoverOrSubmit(parts);
  return { reference, status: await pollUntilDone(parts, reference) };
}

async function recoverOrSubmit(parts: RunParts): Promise<string> {
  const { task, engine, request, context } = parts;
  // Free engines are not marked before a submit, so any earlier attempt may have left a run behind.
  const maybeSubmitted = isPaid(parts) ? task.engineSubmittedAt !== null : task.attempt > 1;
  if (maybeSubmitted && task.engineReference === null) {
    const found = await certainly(() => engine.recover(request, context), false);
    if (found === 'unknown' && isPaid(parts)) {
      throw new RunFailureError(
        {
          code: SUBMIT_UNCONFIRMED.code,
          message: 'it is unknown whether the upstream runs this task',
          retryable: false,
        },
        false,
      );
    }
    if (found !== null && found !== 'unknown') {
      return await keepReference(parts, found);
    }
  }
  if (isPaid(parts)) {
    await writeUnderClaim(
      () => parts.claims.markSubmitting(task.id, task.attempt, engine.id),
      context.signal,
    );
  }
  const reference = await certainly(() => engine.submit(request, context), true);
  return await keepReference(parts, reference);
}

/** Stores the reference before anything else happens, so that a crash resumes the run, where possible, instead of submitting again. */
async function keepReference(parts: RunParts, reference: string): Promise<string> {
  const { task, engine, claims, context, onReference } = parts;
  onReference(reference);
  if (!isPaid(parts) && engine.capabilities.transient?.(task.kind)) {
    return reference;
  }
  await writeUnderClaim(
    () => claims.storeReference(task.id, task.attempt, engine.id, reference),
    context.signal,
  );
  return reference;
}

/** Writes what a later attempt must know, even if the database is away for a while: without it the run is lost, or unconfirmed. */
async function writeUnderClaim(write: () => Promise<boolean>, signal: AbortSignal): Promise<void> {
  if (!(await persist(write, signal)).answer) {
    throw new TaskAbortError('claim_lost');
  }
}

/**
 * Turns an EngineError into a RunFailureError. It is the upstream's answer; only SUBMIT_UNCONFIRMED leaves open whether a run was
 * begun.
 */
async function certainly<T>(call: () => Promise<T>, refusalMeansOver: boolean): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof EngineError)) {
      throw error;
    }
    const over = refusalMeansOver && error.failure.code !== SUBMIT_UNCONFIRMED.code;
    throw new RunFailureError(error.failure, over, error);
  }
}

async function pollUntilDone(parts: RunParts, reference: string): Promise<EngineStatus> {
  const { engine, request, context } = parts;
  let failedPolls = 0;
  for (;;) {
    context.signal.throwIfAborted();
    let waitMs = engine.pollIntervalMs;
    try {
      const status = await engine.poll(reference, request, context);
      failedPolls = 0;
      parts.onStatus?.(status);
      if (status.progress !== undefined) {
        context.onProgress(status.progress);
      }
      if (isDone(status, isPaid(parts))) {
        return status;
      }
    } catch (error) {
      failedPolls += 1;
      if (await isHung(parts, error)) {
        context.signal.throwIfAborted();
        throw new RunFailureError(NOT_ANSWERING, false, error);
      }
      waitMs = Math.max(waitMs, tolerable(error, failedPolls, isPaid(parts)));
    }
    await delay(waitMs, undefined, { signal: context.signal });
  }
}

/** Returns whether the outputs are there. Throws RunFailureError when they never will be. */
function isDone(status: EngineStatus, paid: boolean): boolean {
  if (status.state === 'failed' && status.failure?.code === RUN_LOST.code) {
    throw lost(status.failure, paid);
  }
  if (status.state === 'failed') {
    const failure = status.failure ?? {
      code: 'upstream_error',
      message: 'the engine failed',
      retryable: true,
    };
    throw new RunFailureError(failure, true);
  }
  if (status.state === 'canceled') {
    throw new RunFailureError(RUN_CANCELED, true);
  }
  return status.state === 'succeeded';
}

/** Returns whether an engine that did not answer a poll answers nothing at all: further polls would only wait for it. */
async function isHung({ engine, context }: RunParts, error: unknown): Promise<boolean> {
  if (!(engine.isReady && error instanceof EngineError && error.failure.code === TIMED_OUT.code)) {
    return false;
  }
  const signal = AbortSignal.any([context.signal, AbortSignal.timeout(READY_MS)]);
  return !(await engine.isReady(signal).catch(() => false));
}

/** Returns the ms to wait after a failed poll, or throws. A failed poll says nothing about the run behind it. */
function tolerable(error: unknown, failedPolls: number, paid: boolean): number {
  if (!(error instanceof EngineError)) {
    throw error;
  }
  const { failure } = error;
  if (failure.code === RUN_LOST.code) {
    throw lost(failure, paid);
  }
  if (!failure.retryable || failedPolls >= POLL_FAILURES_MAX) {
    throw new RunFailureError(failure, false, error);
  }
  return failure.retryAfterMs ?? 0;
}

/** Returns the failure of a run that the upstream has lost. A paid upstream may still bill it, so only a free one is asked again. */
function lost(failure: EngineFailure, paid: boolean): RunFailureError {
  return new RunFailureError({ ...failure, retryable: !paid }, true);
}

function isPaid(parts: RunParts): boolean {
  return parts.engine.capabilities.paid;
}

type EngineStop = Awaited<ReturnType<Engine['cancel']>>;

/** Tells an engine to stop a run. Returns `unsupported` if that fails or the engine does not answer in time. Never throws. */
export async function stopRun(
  engine: Engine,
  request: EngineRequest,
  reference: string | undefined,
  onError: (error: unknown) => void,
): Promise<EngineStop> {
  if (reference === undefined) {
    return 'stopped';
  }
  try {
    return await withDeadline(
      engine.cancel(reference, request),
      CANCEL_TIMEOUT_MS,
      () => 'unsupported' as const,
    );
  } catch (error) {
    onError(error);
    return 'unsupported';
  }
}

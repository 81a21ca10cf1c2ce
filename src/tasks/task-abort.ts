/** Why a running attempt has to stop: the abort reason of its signal. */
export type TaskAbortReason = 'canceled' | 'claim_lost' | 'overdue' | 'run_timeout' | 'shutdown';

/** Thrown through an attempt that has to stop. */
export class TaskAbortError extends Error {
  override readonly name = 'TaskAbortError';
  readonly reason: TaskAbortReason;

  constructor(reason: TaskAbortReason) {
    super(`the attempt was stopped: ${reason}`);
    this.reason = reason;
  }
}

/** Returns why the signal was aborted; undefined while it is not. Any foreign abort counts as a shutdown. */
export function abortReason(signal: AbortSignal): TaskAbortReason | undefined {
  if (!signal.aborted) {
    return undefined;
  }
  return signal.reason instanceof TaskAbortError ? signal.reason.reason : 'shutdown';
}

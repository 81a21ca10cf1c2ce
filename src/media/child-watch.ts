import type { ChildProcess } from 'node:child_process';

export interface ChildLimits {
  /** Maximum duration of the run, in ms. */
  readonly timeoutMs: number;
  /** Maximum time without a call of {@link ChildWatch.alive}, in ms; undefined for no limit. */
  readonly stallMs?: number;
  readonly signal: AbortSignal;
  /** Milliseconds between SIGTERM and SIGKILL. */
  readonly killAfterMs?: number;
}

export type StopReason = 'timeout' | 'stalled' | 'aborted';

export interface ChildExit {
  readonly code: number | null;
  readonly killedBy: NodeJS.Signals | null;
  /** Why we stopped it; undefined when we did not. */
  readonly stopped: StopReason | undefined;
}

export interface ChildWatch {
  /** Reports that the child made progress. */
  alive(): void;
  /** Stops the child at the caller's request. */
  stop(): void;
  /** Settles when the process is gone and its pipes are closed, or a second later if a grandchild holds them open. */
  readonly exited: Promise<ChildExit>;
}

const KILL_AFTER_MS = 5_000;
const PIPES_CLOSE_MS = 1_000;

/**
 * Limits the life of a child process. Deadline, stall and abort each send SIGTERM, followed by SIGKILL. Nothing settles before the process
 * is gone, so nothing writes to a folder removed afterwards.
 */
export function watchChild(child: ChildProcess, limits: ChildLimits): ChildWatch {
  let stopped: StopReason | undefined;
  let killTimer: NodeJS.Timeout | undefined;
  let stallTimer: NodeJS.Timeout | undefined;
  const terminate = () => {
    // a child that could not start has no id, and Node would signal id 0: our own process group with whatever started us
    if (child.pid === undefined) {
      return;
    }
    killTimer ??= setTimeout(() => child.kill('SIGKILL'), limits.killAfterMs ?? KILL_AFTER_MS);
    child.kill('SIGTERM');
  };
  const stopFor = (reason: StopReason) => {
    stopped ??= reason;
    terminate();
  };
  const onAbort = () => stopFor('aborted');
  const alive = () => {
    clearTimeout(stallTimer);
    if (limits.stallMs !== undefined) {
      stallTimer = setTimeout(() => stopFor('stalled'), limits.stallMs);
    }
  };
  const deadline = setTimeout(() => stopFor('timeout'), limits.timeoutMs);
  const release = () => {
    clearTimeout(deadline);
    clearTimeout(stallTimer);
    clearTimeout(killTimer);
    limits.signal.removeEventListener('abort', onAbort);
  };
  const exited = new Promise<ChildExit>((resolve) => {
    child.once('exit', (code, killedBy) => {
      release();
      const finish = () => {
        clearTimeout(pipes);
        resolve({ code, killedBy, stopped });
      };
      const pipes = setTimeout(() => {
        child.stdout?.destroy();
        child.stderr?.destroy();
        finish();
      }, PIPES_CLOSE_MS);
      child.once('close', finish);
    });
    child.once('error', () => {
      if (child.pid === undefined) {
        release();
        resolve({ code: null, killedBy: null, stopped });
      }
    });
  });
  limits.signal.addEventListener('abort', onAbort, { once: true });
  alive();
  if (limits.signal.aborted) {
    onAbort();
  }
  return { alive, stop: terminate, exited };
}

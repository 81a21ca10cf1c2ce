import type { ChildProcess } from 'node:child_process';

export interface ChildLimits {
  /** Milliseconds for the whole run. */
  readonly timeoutMs: number;
  /** Milliseconds without {@link ChildWatch.alive}; undefined = not watched. */
  readonly stallMs?: number;
  readonly signal: AbortSignal;
  /** Milliseconds between SIGTERM and SIGKILL. */
  readonly killAfterMs?: number;
}

export type StopReason = 'timeout' | 'stalled' | 'aborted';

export interface ChildExit {
  readonly code: number | null;
  readonly killedBy: NodeJS.Signals | null;
  /** Why we stopped it, when we did. */
  readonly stopped: StopReason | undefined;
}

export interface ChildWatch {
  /** Tells that the child made progress. */
  alive(): void;
  /** Stops the child for a reason of the caller's. */
  stop(): void;
  /** Settles when the process is gone and its pipes have closed (or a second later, should a grandchild hold them). */
  readonly exited: Promise<ChildExit>;
}

const KILL_AFTER_MS = 5_000;
const PIPES_CLOSE_MS = 1_000;

/**
 * Bounds the life of a child: deadline, stall and abort each send SIGTERM, SIGKILL follows. Nothing settles before the
 * process is gone, so a folder removed afterwards has no writer left.
 */
export function watchChild(child: ChildProcess, limits: ChildLimits): ChildWatch {
  let stopped: StopReason | undefined;
  let killTimer: NodeJS.Timeout | undefined;
  let stallTimer: NodeJS.Timeout | undefined;
  const terminate = () => {
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

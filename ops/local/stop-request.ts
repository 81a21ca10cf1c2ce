export type StopRequest = {
  /** Resolves with the reason of the first request. */
  requested: Promise<string>;
  /** Returns the reason once a stop was requested. */
  reason: () => string | undefined;
  /** Throws Stopped when a stop was requested. Called between steps. */
  check: () => void;
  request: (reason: string) => void;
  dispose: () => void;
};

/** Thrown when a stop was requested during the start. */
export class Stopped extends Error {}

/** npm forwards to its child the Ctrl-C that the terminal has already sent to both. */
const SAME_KEY_PRESS_MS = 700;
const PARENT_CHECK_MS = 250;

/**
 * Combines Ctrl-C, kill, a closed terminal and the death of the npm that started us into one request. Calls `onImpatience` on a
 * second Ctrl-C or kill.
 */
export function listenForStop(onImpatience: () => void, watchParent: boolean): StopRequest {
  let reason: string | undefined;
  let requestedAt = 0;
  let resolveRequested: (reason: string) => void = () => undefined;
  const requested = new Promise<string>((resolve) => {
    resolveRequested = resolve;
  });
  const request = (why: string) => {
    if (reason === undefined) {
      reason = why;
      requestedAt = Date.now();
      resolveRequested(why);
    }
  };
  const onSignal = (signal: NodeJS.Signals) => {
    if (reason === undefined) {
      request(signal);
    } else if (signal !== 'SIGHUP' && Date.now() - requestedAt > SAME_KEY_PRESS_MS) {
      onImpatience();
    }
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) {
    process.on(signal, onSignal);
  }
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (watchParent && process.ppid !== parent) {
      request('the npm process that started this has exited');
    }
  }, PARENT_CHECK_MS);
  timer.unref();
  return {
    requested,
    reason: () => reason,
    check: () => {
      if (reason !== undefined) {
        throw new Stopped(reason);
      }
    },
    request,
    dispose: () => {
      clearInterval(timer);
      for (const signal of signals) {
        process.removeListener(signal, onSignal);
      }
    },
  };
}

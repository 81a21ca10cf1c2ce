/** A task that repeats until closed. */
export interface Loop {
  /** Runs now; after the run in flight, if there is one. */
  runNow(): Promise<void>;
  /** Stops, and resolves when the run in flight has ended. */
  close(): Promise<void>;
}

/**
 * Calls `run` every `everyMs` ms until closed, one run at a time: while one is in flight, the next is skipped. The timer does not keep the
 * process alive. `run` must handle its own errors.
 */
export function every(everyMs: number, run: () => Promise<unknown>): Loop {
  let inFlight: Promise<unknown> | undefined;
  const runNow = async (): Promise<void> => {
    while (inFlight !== undefined) {
      await inFlight;
    }
    inFlight = run().finally(() => {
      inFlight = undefined;
    });
    await inFlight;
  };
  const timer = setInterval(() => {
    if (inFlight === undefined) {
      void runNow();
    }
  }, everyMs).unref();
  return {
    runNow,
    close: async () => {
      clearInterval(timer);
      await inFlight;
    },
  };
}

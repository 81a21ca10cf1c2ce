import type { Worker } from 'bullmq';

/** More errors than that within a second mean that the worker asks again without a pause. */
const ERRORS_PER_SECOND_MAX = 20;
const REST_MS = 1_000;
/** A worker that can do nothing else for that long, in ms, needs a new process. */
const GIVE_UP_MS = 30_000;

/**
 * Lets a worker rest that meets an error at every turn. The library repeats at once what failed for another reason than the
 * connection; a turn without I/O then leaves no room for anything, not even for a signal that ends the process. `onLost` is called when
 * resting did not help.
 */
export function guardAgainstSpin(worker: Worker, onLost: () => void): void {
  let windowStart = 0;
  let errors = 0;
  let spinningSince: number | undefined;
  worker.on('error', () => {
    const now = performance.now();
    if (now - windowStart > REST_MS) {
      if (now - windowStart > 3 * REST_MS) {
        spinningSince = undefined;
      }
      windowStart = now;
      errors = 0;
    }
    errors += 1;
    if (errors < ERRORS_PER_SECOND_MAX || worker.isPaused()) {
      return;
    }
    spinningSince ??= now;
    // its loop looks at this mark at every turn, and ends
    worker.pause(true).catch(() => undefined);
    if (now - spinningSince > GIVE_UP_MS) {
      onLost();
      return;
    }
    setTimeout(() => worker.resume(), REST_MS).unref();
  });
}

import { Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { FETCH_LIMIT } from '../queues/fetch-limit.ts';
import { queuePrefix } from '../queues/queue-name.ts';
import type { Logger } from '../src/lib/logger.ts';
import type { JobObserver } from './job-metrics.ts';
import { type Processors, runJob } from './run-job.ts';
import type { ThrottledLog } from './throttled-log.ts';

/** More errors than that within a second mean that the worker asks again without a pause. */
const ERRORS_PER_SECOND_MAX = 20;
const REST_MS = 1_000;
/** A worker that can do nothing else for that long, in ms, needs a new process. */
const GIVE_UP_MS = 30_000;

export interface WorkerSettings {
  /** What every name in Redis begins with. */
  readonly prefix: string;
  /** Shown on the operator's board. */
  readonly workerName: string;
}

const LOCK_MS = 30_000;
const STALLED_CHECK_MS = 30_000;
/** A job of a dead worker is run again once; the claim makes that safe, and the task's own lease is faster anyway. */
const STALLED_MAX = 1;
/** Ms after which a worker whose fetch failed fetches again. The library's own 15 s would be added to every outage of Redis. */
const FETCH_AGAIN_MS = 1_000;

/** One BullMQ worker per queue, with that many slots. They run until closed; the connection stays the caller's. */
export function buildWorkers(
  slots: ReadonlyMap<string, number>,
  processors: Processors,
  connection: Redis,
  settings: WorkerSettings,
  output: {
    readonly log: Logger;
    readonly throttledLog: ThrottledLog;
    readonly observer?: JobObserver | undefined;
    /** The worker of this queue cannot be used any more. */
    readonly onDeaf: (queue: string) => void;
  },
): Worker[] {
  const { log, throttledLog, observer, onDeaf } = output;
  return [...slots].map(([queue, concurrency]) => {
    const worker = new Worker(queue, (job) => runJob(job, processors, log, observer), {
      connection,
      prefix: queuePrefix(settings.prefix, queue),
      name: settings.workerName,
      concurrency,
      lockDuration: LOCK_MS,
      stalledInterval: STALLED_CHECK_MS,
      maxStalledCount: STALLED_MAX,
      limiter: FETCH_LIMIT,
      runRetryDelay: FETCH_AGAIN_MS,
    });
    worker.on('error', (error) => throttledLog.warn(error, queue));
    guardAgainstSpin(worker, () => onDeaf(queue));
    worker.on('failed', (job, error) => {
      log.warn({ queue, jobId: job?.id, reason: error.message }, 'a job was marked as failed');
    });
    return worker;
  });
}

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

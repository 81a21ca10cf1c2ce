import { Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { FETCH_LIMIT } from '../queues/fetch-limit.ts';
import { queuePrefix } from '../queues/queue-name.ts';
import type { Logger } from '../src/lib/logger.ts';
import type { JobObserver } from './job-metrics.ts';
import { type Processors, runJob } from './run-job.ts';
import type { ThrottledLog } from './throttled-log.ts';

/** More errors per second than this mean that the worker retries without a pause. */
const ERRORS_PER_SECOND_MAX = 20;
const REST_MS = 1_000;
/** Ms of spinning after which a worker needs a new process. */
const GIVE_UP_MS = 30_000;

export interface WorkerSettings {
  /** Prefix of every name in Redis. */
  readonly prefix: string;
  /** Shown on the operator's board. */
  readonly workerName: string;
}

const LOCK_MS = 30_000;
const STALLED_CHECK_MS = 30_000;
/** How often a dead worker's job is run again. The task's claim makes that safe, and its lease usually acts sooner anyway. */
const STALLED_MAX = 1;
/** Ms before a worker retries a failed fetch. BullMQ's default of 15 s would prolong every outage of Redis. */
const FETCH_AGAIN_MS = 1_000;

/** Builds one BullMQ worker per queue with the given number of slots. Workers run until closed; the caller owns the connection. */
export function buildWorkers(
  slots: ReadonlyMap<string, number>,
  processors: Processors,
  connection: Redis,
  settings: WorkerSettings,
  output: {
    readonly log: Logger;
    readonly throttledLog: ThrottledLog;
    readonly observer?: JobObserver | undefined;
    /** Called when the worker of this queue has become unusable. */
    readonly onStuck: (queue: string) => void;
  },
): Worker[] {
  const { log, throttledLog, observer, onStuck } = output;
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
    guardAgainstSpin(worker, () => onStuck(queue));
    worker.on('failed', (job, error) => {
      log.warn({ queue, jobId: job?.id, reason: error.message }, 'a job was marked as failed');
    });
    return worker;
  });
}

/**
 * Pauses a worker that hits an error in every iteration. BullMQ retries at once after any error that is not a connection error.
 * Iterations without I/O then starve the event loop, even of the signal that should end the process. Calls `onLost` when pausing
 * did not help.
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
    // the worker's loop checks this flag in every iteration, and ends
    worker.pause(true).catch(() => undefined);
    if (now - spinningSince > GIVE_UP_MS) {
      onLost();
      return;
    }
    setTimeout(() => worker.resume(), REST_MS).unref();
  });
}

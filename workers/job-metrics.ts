import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { JobName } from '../queues/catalog.ts';

/**
 * The end of a job's run. `outcome` is what its processor returned, `done` for counts, `failed` for a failed task, `error` for any
 * other error.
 */
export interface JobEnd {
  readonly job: JobName;
  readonly queue: string;
  readonly outcome: string;
  /** Ms the job waited in Redis. */
  readonly waitedMs: number;
  readonly durationMs: number;
}

/** Called around each job run. */
export interface JobObserver {
  started(queue: string): void;
  ended(end: JobEnd): void;
}

export const SILENT_OBSERVER: JobObserver = { started: () => undefined, ended: () => undefined };

const WAIT_SECONDS = [0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300];
const RUN_SECONDS = [0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 300, 1_800, 7_200];

/** Counts and durations of this process's jobs. The catalog of jobs and queues bounds the values of every label. */
export function createJobMetrics(registry: Registry): JobObserver {
  const registers = [registry];
  const jobs = new Counter({
    name: 'tollgate_jobs_total',
    help: 'Finished job runs by outcome',
    labelNames: ['job', 'outcome'],
    registers,
  });
  const duration = new Histogram({
    name: 'tollgate_job_duration_seconds',
    help: 'Duration of one job run',
    labelNames: ['job'],
    buckets: RUN_SECONDS,
    registers,
  });
  const wait = new Histogram({
    name: 'tollgate_job_wait_seconds',
    help: 'Time a job waited in its queue; queues are kept short, so most waiting happens in the database',
    labelNames: ['queue'],
    buckets: WAIT_SECONDS,
    registers,
  });
  const active = new Gauge({
    name: 'tollgate_jobs_active',
    help: 'Jobs running in this process',
    labelNames: ['queue'],
    registers,
  });
  const success = new Gauge({
    name: 'tollgate_chore_last_success_timestamp_seconds',
    help: 'When this process last completed a chore; the newest across all workers counts',
    labelNames: ['chore'],
    registers,
  });
  return {
    started: (queue) => active.inc({ queue }),
    ended: ({ job, queue, outcome, waitedMs, durationMs }) => {
      active.dec({ queue });
      jobs.inc({ job, outcome });
      duration.observe({ job }, durationMs / 1_000);
      wait.observe({ queue }, waitedMs / 1_000);
      if (outcome !== 'error' && job.startsWith('maintenance.')) {
        success.setToCurrentTime({ chore: job.slice('maintenance.'.length) });
      }
    },
  };
}

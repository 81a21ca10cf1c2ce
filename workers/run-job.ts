import { type Job, UnrecoverableError } from 'bullmq';
import { isJobName, JOBS, type JobName, type PayloadOf } from '../queues/catalog.ts';
import type { JobContract } from '../queues/define-job.ts';
import { systemClock } from '../src/lib/clock.ts';
import { publicId } from '../src/lib/ids.ts';
import type { Logger } from '../src/lib/logger.ts';
import { taskFields } from '../src/tasks/task-fields.ts';
import { type JobObserver, SILENT_OBSERVER } from './job-metrics.ts';

/** The arguments of a processor besides its payload. */
export interface JobContext {
  /** The queue the job came from. */
  readonly queue: string;
  /** Aborts when the job's time is up. */
  readonly signal: AbortSignal;
  /** Adds the job and its ids to every line. */
  readonly log: Logger;
}

/** Thrown when a job's task has failed for good: the board shows the job as failed with the task's code, and it is not run again. */
export class TaskFailedError extends Error {
  override readonly name = 'TaskFailedError';
  readonly code: string;

  constructor(code: string) {
    super(`the task failed: ${code}`);
    this.code = code;
  }
}

/** Does one kind of job. The result is kept in Redis for an hour, so it is only an outcome's name or counts, never customer data. */
export type Processor<Name extends JobName> = (
  payload: PayloadOf<Name>,
  context: JobContext,
) => Promise<string | Readonly<Record<string, number>>>;

/** A processor for every job of the catalog: a missing one does not compile. */
export type Processors = { readonly [Name in JobName]: Processor<Name> };

/** Ms that a processor has to stop after its signal aborts; after that its slot is freed anyway. */
const STOP_MS = 30_000;

/**
 * Runs a job's processor within its time limit and logs one line with the outcome. Errors are logged here, and only their names
 * reach Redis: an error's text may quote the data it failed on.
 */
export async function runJob(
  job: Job,
  processors: Processors,
  logger: Logger,
  observer: JobObserver = SILENT_OBSERVER,
): Promise<unknown> {
  const { name, id: jobId, queueName: queue } = job;
  if (!isJobName(name)) {
    throw new UnrecoverableError(`unknown job ${name}: sent by another version`);
  }
  const contract: JobContract<string, unknown> = JOBS[name];
  const payload = contract.payload.safeParse(job.data);
  if (!payload.success) {
    throw new UnrecoverableError(`the payload of ${name} was sent by another version`);
  }
  const log = logger.child({ job: name, jobId, ...idsOf(payload.data) });
  const startedAt = performance.now();
  const waitedMs = Math.max(0, (job.processedOn ?? systemClock.now()) - job.timestamp - job.delay);
  const end = (outcome: string, facts: Readonly<Record<string, string>> = {}): void => {
    const durationMs = Math.round(performance.now() - startedAt);
    observer.ended({ job: name, queue, outcome, waitedMs, durationMs });
    const level = contract.family === 'maintenance' && outcome !== 'error' ? 'debug' : 'info';
    log[level]({ queue, outcome, ...facts, waitedMs, durationMs }, 'job');
  };
  observer.started(queue);
  try {
    const result = await withTimeLimit(contract.timeoutMs, (signal) =>
      process(processors, name, payload.data as PayloadOf<typeof name>, { queue, signal, log }),
    );
    end(typeof result === 'string' ? result : 'done');
    return result;
  } catch (error) {
    if (error instanceof TaskFailedError) {
      end('failed', { code: error.code });
      throw new UnrecoverableError(error.message);
    }
    end('error');
    log.error({ error }, 'a job failed');
    throw isFinal(error) ? new UnrecoverableError(nameOf(error)) : new Error(nameOf(error));
  }
}

/** Returns the ids of a payload in the form that all other log lines and answers use. */
function idsOf(payload: unknown): Readonly<Record<string, string | number>> {
  const { taskId, deliveryId, requestId } = payload as Readonly<Record<string, unknown>>;
  return {
    ...(typeof requestId === 'string' && { requestId }),
    ...(typeof taskId === 'string' && taskFields({ id: taskId })),
    ...(typeof deliveryId === 'string' && { deliveryId: publicId('webhookDelivery', deliveryId) }),
  };
}

function process<Name extends JobName>(
  processors: Processors,
  name: Name,
  payload: PayloadOf<Name>,
  context: JobContext,
): Promise<unknown> {
  return processors[name](payload, context);
}

async function withTimeLimit<T>(milliseconds: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  let stopTimer: NodeJS.Timeout | undefined;
  let limitTimer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    limitTimer = setTimeout(() => {
      const expired = new Error('the job took too long');
      controller.abort(expired);
      stopTimer = setTimeout(() => reject(expired), STOP_MS);
    }, milliseconds);
  });
  try {
    return await Promise.race([work(controller.signal), limit]);
  } finally {
    clearTimeout(limitTimer);
    clearTimeout(stopTimer);
  }
}

function isFinal(error: unknown): boolean {
  return error instanceof Error && 'retryable' in error && error.retryable === false;
}

function nameOf(error: unknown): string {
  if (!(error instanceof Error)) {
    return 'error';
  }
  const code = 'code' in error && typeof error.code === 'string' ? ` ${error.code}` : '';
  return error.name + code;
}

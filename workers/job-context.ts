import type { JobName, PayloadOf } from '../queues/catalog.ts';
import type { Logger } from '../src/lib/logger.ts';

/** What a processor gets beside its payload. */
export interface JobContext {
  /** The queue the job came from. */
  readonly queue: string;
  /** Aborts when the job's time is over. */
  readonly signal: AbortSignal;
  /** Names the job and its ids in every line. */
  readonly log: Logger;
}

/** Thrown for a job whose task has failed for good: the job is a failed one on the board, by the task's code, and is not run again. */
export class TaskFailedError extends Error {
  override readonly name = 'TaskFailedError';
  readonly code: string;

  constructor(code: string) {
    super(`the task failed: ${code}`);
    this.code = code;
  }
}

/** Does one kind of job. What it returns is kept in Redis for an hour: an outcome's name or counts, nothing of a customer's. */
export type Processor<Name extends JobName> = (
  payload: PayloadOf<Name>,
  context: JobContext,
) => Promise<string | Readonly<Record<string, number>>>;

/** A processor for every job of the catalog: a missing one does not compile. */
export type Processors = { readonly [Name in JobName]: Processor<Name> };

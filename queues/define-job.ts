import type { JobsOptions } from 'bullmq';
import { type ZodType, z } from 'zod';

/** `generate` is one queue per engine pool; the others are one queue each. */
export const QUEUE_FAMILIES = ['generate', 'postprocess', 'webhooks', 'maintenance'] as const;
export type QueueFamily = (typeof QUEUE_FAMILIES)[number];

export interface JobRetention {
  readonly ageSeconds: number;
  readonly count: number;
}

/** The contract between a producer and a worker. A payload holds ids only: Redis and the operator's board show it unencrypted. */
export interface JobContract<Name extends string, Payload> {
  /** `<area>.<verb>` */
  readonly name: Name;
  readonly family: QueueFamily;
  readonly payload: ZodType<Payload>;
  /** Unique per dispatch: BullMQ silently drops a second job with the same id, even after the first has failed. */
  jobId(payload: Payload): string;
  /** Maximum runs of one job. Work with its own retry table (tasks, webhooks) runs once and comes back as a new job. */
  readonly attempts: number;
  /** Ms before the second run; doubles with each further run. */
  readonly backoffMs: number;
  /** Ms after which a run is aborted and fails. */
  readonly timeoutMs: number;
  readonly keepCompleted: JobRetention;
  readonly keepFailed: JobRetention;
}

const JOB_ID_PATTERN = /^(?=.*[^0-9])[A-Za-z0-9_.-]{1,128}$/;
/** Maximum size of a payload, in bytes of JSON: anything larger is not just ids. */
const PAYLOAD_BYTES_MAX = 4_096;

/** Fields that help to find a job's log lines, in addition to its ids. Absent when no longer known. */
export const traceFields = { requestId: z.string().min(1).max(128).optional() };

const DEFAULTS = {
  attempts: 1,
  backoffMs: 1_000,
  keepCompleted: { ageSeconds: 3_600, count: 1_000 },
  keepFailed: { ageSeconds: 86_400, count: 5_000 },
} as const;

type Definition<Name extends string, Schema extends ZodType> = Pick<
  JobContract<Name, z.output<Schema>>,
  'name' | 'family' | 'jobId' | 'timeoutMs'
> &
  Partial<JobContract<Name, z.output<Schema>>> & { readonly payload: Schema };

/** Completes a job contract with the defaults. */
export function defineJob<const Name extends string, Schema extends ZodType>(
  definition: Definition<Name, Schema>,
): JobContract<Name, z.output<Schema>> {
  return { ...DEFAULTS, ...definition } as JobContract<Name, z.output<Schema>>;
}

/** Returns BullMQ's options for one job. Throws RangeError for an id that BullMQ would reject or silently mistake for another. */
export function jobOptions<Payload>(contract: JobContract<string, Payload>, payload: Payload): JobsOptions {
  const jobId = contract.jobId(payload);
  if (!JOB_ID_PATTERN.test(jobId)) {
    throw new RangeError(
      `job id ${jobId} of ${contract.name} contains a character that BullMQ reserves, or consists of digits only`,
    );
  }
  return {
    jobId,
    attempts: contract.attempts,
    backoff: { type: 'exponential', delay: contract.backoffMs, jitter: 0.5 },
    removeOnComplete: { age: contract.keepCompleted.ageSeconds, count: contract.keepCompleted.count },
    removeOnFail: { age: contract.keepFailed.ageSeconds, count: contract.keepFailed.count },
    sizeLimit: PAYLOAD_BYTES_MAX,
    stackTraceLimit: 3,
  };
}

import { z } from 'zod';

const MS_PER_HOUR = 3_600_000;
const DAYS_MAX_MS = 7 * 24 * MS_PER_HOUR;

/** The `runs` settings of an engine or a route, times in ms: how long runs may take and how often they are retried. */
export const runSettings = z.strictObject({
  attempts: z
    .int()
    .min(1)
    .max(100)
    .optional()
    .describe(
      'number of failed runs after which a task fails for good; runs lost because the engine went away do not count',
    ),
  backoff_ms: z
    .int()
    .min(10)
    .max(600_000)
    .optional()
    .describe('wait before the second run; doubled for each further one'),
  backoff_max_ms: z.int().min(10).max(MS_PER_HOUR).optional().describe('maximum wait between runs'),
  timeout_ms: z
    .int()
    .min(1_000)
    .max(24 * MS_PER_HOUR)
    .optional()
    .describe('maximum duration of one run on the engine'),
  deadline_ms: z
    .int()
    .min(1_000)
    .max(DAYS_MAX_MS)
    .optional()
    .describe('maximum time from the order to its end, including queueing and retries'),
});

export type RunSettings = z.output<typeof runSettings>;

/** Timeouts and retries of a model's runs on an engine. */
export interface RunPolicy {
  /** Number of failed runs after which a task fails for good. */
  readonly attempts: number;
  readonly backoffMs: number;
  readonly backoffMaxMs: number;
  /** Maximum duration of one run, in ms. */
  readonly timeoutMs: number;
  /** Time from the order until its unfinished task fails, in ms, even if it has not run yet. */
  readonly deadlineMs: number;
}

const ATTEMPTS = 5;
const BACKOFF_MS = 1_000;
const BACKOFF_MAX_MS = 60_000;
const TIMEOUT_MS = { image: 600_000, video: MS_PER_HOUR };
const DEADLINE_MS = { image: MS_PER_HOUR, video: 6 * MS_PER_HOUR };

/** Returns the run policy for a kind of model. Later settings override earlier ones. */
export function runPolicy(kind: 'image' | 'video', ...settings: (RunSettings | undefined)[]): RunPolicy {
  const set: RunSettings = Object.assign({}, ...settings);
  return {
    attempts: set.attempts ?? ATTEMPTS,
    backoffMs: set.backoff_ms ?? BACKOFF_MS,
    backoffMaxMs: set.backoff_max_ms ?? BACKOFF_MAX_MS,
    timeoutMs: set.timeout_ms ?? TIMEOUT_MS[kind],
    deadlineMs: set.deadline_ms ?? DEADLINE_MS[kind],
  };
}

import { z } from 'zod';

const MS_PER_HOUR = 3_600_000;
const DAYS_MAX_MS = 7 * 24 * MS_PER_HOUR;

/** `runs` of an engine or of a route, in ms: how long its runs may take and how often they are tried. */
export const runSettings = z.strictObject({
  attempts: z
    .int()
    .min(1)
    .max(100)
    .optional()
    .describe(
      'failed runs after which a task fails for good; runs that an engine broke off by going away do not count',
    ),
  backoff_ms: z
    .int()
    .min(10)
    .max(600_000)
    .optional()
    .describe('before the second run; doubled for each further one'),
  backoff_max_ms: z.int().min(10).max(MS_PER_HOUR).optional().describe('the longest pause'),
  timeout_ms: z
    .int()
    .min(1_000)
    .max(24 * MS_PER_HOUR)
    .optional()
    .describe('one run on the engine'),
  deadline_ms: z
    .int()
    .min(1_000)
    .max(DAYS_MAX_MS)
    .optional()
    .describe('from the order to its end, whatever happens meanwhile'),
});

export type RunSettings = z.output<typeof runSettings>;

/** How the runs of a model on an engine are tried. */
export interface RunPolicy {
  /** Failed runs after which a task fails for good. */
  readonly attempts: number;
  readonly backoffMs: number;
  readonly backoffMaxMs: number;
  /** Ms one run may take. */
  readonly timeoutMs: number;
  /** Ms from the order after which its task fails, unrun or unfinished. */
  readonly deadlineMs: number;
}

const ATTEMPTS = 5;
const BACKOFF_MS = 1_000;
const BACKOFF_MAX_MS = 60_000;
const TIMEOUT_MS = { image: 600_000, video: MS_PER_HOUR };
const DEADLINE_MS = { image: MS_PER_HOUR, video: 6 * MS_PER_HOUR };

/** What holds for a kind of model; settings that come later win. */
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

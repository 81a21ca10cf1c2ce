import type { RunPolicy } from '../catalog/run-policy.ts';

/** Failed post-processing runs after which a task fails for good. */
export const FAILURES_MAX = 5;
/** Runs cut short because an engine or host went away, after which a task fails: a task that causes this ends before its deadline. */
export const INTERRUPTIONS_MAX = 10;

type Backoff = Pick<RunPolicy, 'backoffMs' | 'backoffMaxMs'>;

const POSTPROCESS: Backoff = { backoffMs: 1_000, backoffMaxMs: 60_000 };

/** Returns the ms before the next attempt after that many failures: exponential, with up to half of it random. */
export function backoffMs(
  failures: number,
  backoff: Backoff = POSTPROCESS,
  random: () => number = Math.random,
): number {
  const full = Math.min(backoff.backoffMs * 2 ** failures, backoff.backoffMaxMs);
  return Math.round(full * (0.5 + random() / 2));
}

/** Failed runs after which a task fails for good. */
export const FAILURES_MAX = 5;

const BACKOFF_MS = 1_000;
const BACKOFF_MS_MAX = 60_000;

/** Ms before the next attempt after that many failures: exponential, with up to half of it random. */
export function backoffMs(failures: number, random: () => number = Math.random): number {
  const full = Math.min(BACKOFF_MS * 2 ** failures, BACKOFF_MS_MAX);
  return Math.round(full * (0.5 + random() / 2));
}

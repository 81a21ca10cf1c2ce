/** Bound of the first backoff and upper limit of all, in ms. */
const BASE_MS = 100;
const CAP_MS = 2_000;
/** Longest `Retry-After` that is honored, in ms. A provider that asks for more is not retried. */
export const RETRY_AFTER_HONOURED_MS = 5_000;

/**
 * Returns the wait before retry number `retry` (0, 1, …), in ms: full jitter, i.e. a random share of an exponentially growing bound
 * (AWS Architecture Blog, "Exponential Backoff and Jitter"), on top of the wait the provider asked for.
 */
export function retryPauseMs(
  retry: number,
  retryAfterMs: number | undefined,
  random: () => number = Math.random,
): number {
  const bound = Math.min(CAP_MS, BASE_MS * 2 ** retry);
  return (retryAfterMs ?? 0) + random() * bound;
}

/** First and longest backoff, in ms. */
const BASE_MS = 100;
const CAP_MS = 2_000;
/** A provider that asks for a longer wait than this, in ms, is not waited for. */
export const RETRY_AFTER_HONOURED_MS = 5_000;

/**
 * Wait before retry number `retry` (0, 1, …), in ms: full jitter, a random share of an exponentially growing bound
 * (AWS Architecture Blog, "Exponential Backoff and Jitter"), on top of what the provider asked for.
 */
export function retryPauseMs(
  retry: number,
  retryAfterMs: number | undefined,
  random: () => number = Math.random,
): number {
  const bound = Math.min(CAP_MS, BASE_MS * 2 ** retry);
  return (retryAfterMs ?? 0) + random() * bound;
}

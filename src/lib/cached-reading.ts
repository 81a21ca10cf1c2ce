import { inTimeOrUndefined } from './deadline.ts';

export interface ReadingLimits {
  /** How long a reading is reused, in ms, even a failed one. */
  readonly freshMs: number;
  /** Timeout of a reading, in ms. */
  readonly timeoutMs: number;
}

/**
 * Returns a function that shares an expensive reading among its callers and reuses it for a while. Resolves to undefined when the reading
 * failed or timed out. Never rejects.
 */
export function cachedReading<T>(
  read: () => Promise<T>,
  { freshMs, timeoutMs }: ReadingLimits,
): () => Promise<T | undefined> {
  let last: Promise<T | undefined> | undefined;
  let readAt = 0;
  return () => {
    const now = performance.now();
    if (last === undefined || now - readAt >= freshMs) {
      readAt = now;
      last = inTimeOrUndefined(read(), timeoutMs);
    }
    return last;
  };
}

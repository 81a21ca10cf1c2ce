import { inTimeOrUndefined } from './deadline.ts';

export interface ReadingLimits {
  /** Ms a reading, also a failed one, is good for. */
  readonly freshMs: number;
  /** Ms a reading may take. */
  readonly timeoutMs: number;
}

/**
 * Shares a costly reading among all who ask: one at a time, kept for a while. The answer is undefined when the reading
 * failed or took too long. Never rejects.
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

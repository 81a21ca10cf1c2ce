import { cachedReading } from '../lib/cached-reading.ts';
import { AppError } from '../lib/errors.ts';

/** One reading of the workers' reports serves all orders of this time, in ms. */
const REPORTS = { freshMs: 1_000, timeoutMs: 2_000 };
const RETRY_SECONDS = 60;

/**
 * Returns a function that rejects orders nobody could carry out, because the engines of all given pools refuse every run until an
 * operator fixes them. It throws AppError service_unavailable. `misconfigured` returns the pools that every live worker reports as
 * such.
 */
export function requireWorkingPool(
  misconfigured: () => Promise<ReadonlySet<string>>,
): (pools: readonly string[]) => Promise<void> {
  const read = cachedReading(misconfigured, REPORTS);
  return async (pools) => {
    const broken = await read();
    if (broken && pools.every((pool) => broken.has(pool))) {
      const message =
        'This model is unavailable at the moment; its operator has been informed. Nothing was charged.';
      throw new AppError('service_unavailable', message, { retryAfterSeconds: RETRY_SECONDS });
    }
  };
}

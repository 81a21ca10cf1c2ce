import { cachedReading } from '../lib/cached-reading.ts';
import { AppError } from '../lib/errors.ts';

/** A reading of the workers' reports serves all orders of this time, in ms. */
const REPORTS = { freshMs: 1_000, timeoutMs: 2_000 };
const RETRY_SECONDS = 60;

/**
 * Refuses orders that nobody could carry out: the engines of all these pools refuse every run until an operator mends them. The function
 * throws AppError service_unavailable. `misconfigured`: pools that are so at every live worker.
 */
export function requireMended(
  misconfigured: () => Promise<ReadonlySet<string>>,
): (pools: readonly string[]) => Promise<void> {
  const read = cachedReading(misconfigured, REPORTS);
  return async (pools) => {
    const broken = await read();
    if (broken && pools.every((pool) => broken.has(pool))) {
      const message =
        'This model cannot be made at the moment: its operator has been told. Nothing was charged.';
      throw new AppError('service_unavailable', message, { retryAfterSeconds: RETRY_SECONDS });
    }
  };
}

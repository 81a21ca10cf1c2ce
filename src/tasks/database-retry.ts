import { setTimeout as delay } from 'node:timers/promises';
import { sqlState } from '../ledger/failure-kind.ts';
import { isDatabaseOutage } from '../store/database-outage.ts';

const WAIT_MS_MIN = 50;
/** Short, so that a run that lasted longer than its lease is back before the sweep for lapsed leases takes its task away. */
const WAIT_MS_MAX = 500;
/** A lock or a slow database was in the way: rolled back (40), lock not available (55P03), statement timeout (57014). */
const PASSING_STATE = /^(40...|55P03|57014)$/;

/** The answer of a write that may have been sent several times. */
export interface Persisted<T> {
  readonly answer: T;
  /** Whether an earlier try failed. It may have been committed, with only its reply lost. */
  readonly isRepeated: boolean;
}

/**
 * Does a write of which a run that was paid for depends, and repeats it while the database is away. Rethrows its other errors, and throws
 * the signal's reason when that ends the wait. The write must be one that may be sent twice.
 */
export async function persist<T>(work: () => Promise<T>, signal: AbortSignal): Promise<Persisted<T>> {
  for (let tries = 0; ; tries += 1) {
    try {
      return { answer: await work(), isRepeated: tries > 0 };
    } catch (error) {
      if (!mayPass(error)) {
        throw error;
      }
    }
    await delay(Math.min(WAIT_MS_MIN * 2 ** tries, WAIT_MS_MAX), undefined, { signal }).catch(
      (aborted: unknown) => {
        signal.throwIfAborted();
        throw aborted;
      },
    );
  }
}

function mayPass(error: unknown): boolean {
  return isDatabaseOutage(error) || PASSING_STATE.test(sqlState(error) ?? '');
}

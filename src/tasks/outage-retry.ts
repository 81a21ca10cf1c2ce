import { setTimeout as delay } from 'node:timers/promises';
import { sqlState } from '../ledger/failure-kind.ts';
import type { Logger } from '../lib/logger.ts';
import { StorageError } from '../media/storage-error.ts';
import { isDatabaseOutage } from '../store/database-outage.ts';

/** Ms before the first repetition of a write to the database, which doubles. */
const DATABASE_WAIT_MS_MIN = 50;
/** Short, so that a run that lasted longer than its lease is back before the sweep for lapsed leases takes its task away. */
const DATABASE_WAIT_MS_MAX = 500;
const STORAGE_WAIT_MS_MIN = 500;
const STORAGE_WAIT_MS_MAX = 5_000;
/** Minimum ms between two log lines about the same outage. */
const REPEAT_MS = 30_000;
/** A lock or a slow database was in the way: rolled back (40), lock not available (55P03), statement timeout (57014). */
const PASSING_STATE = /^(40...|55P03|57014)$/;
/** Error codes of a file system that is full, read-only, broken, or on a host that is away: for the scratch disk, not the storage. */
const OUTAGE_CODES = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'ESTALE', 'ENOTCONN', 'EHOSTDOWN']);
/** ffmpeg and sharp report the same without a code, in their own words. */
const OUTAGE_WORDS = /No space left on device|Disk quota exceeded|Read-only file system/;

/**
 * How a task goes back whose files could not be written: without a failure, and with its run, so that output that was paid for is
 * collected again and never ordered twice.
 */
export const AFTER_STORAGE_OUTAGE = {
  failures: 0,
  waitMs: 5_000,
  forgetRun: false,
  reason: 'storage_unavailable',
} as const;

/** The attempt ended while it waited for the storage. */
export class StorageWaitError extends Error {
  override readonly name = 'StorageWaitError';
}

/** Returns the error of a task that reached its deadline. */
export function overdueError(wasStorageAway: boolean): { code: string; message: string } {
  return wasStorageAway
    ? {
        code: 'storage_unavailable',
        message: 'the task was done, but its files could not be stored in time',
      }
    : { code: 'deadline_exceeded', message: 'the task was not finished in time' };
}

/** Returns whether the storage, or the disk under it, is at fault; the work itself is still good. */
export function isStorageOutage(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return (
    error instanceof StorageError ||
    (typeof code === 'string' && OUTAGE_CODES.has(code)) ||
    (error instanceof Error && OUTAGE_WORDS.test(error.message))
  );
}

/** The answer of work that may have been done several times. */
export interface Repeated<T> {
  readonly answer: T;
  /** Whether an earlier try failed. It may have taken effect, with only its reply lost. */
  readonly isRepeated: boolean;
}

/**
 * Does a write on which a run that was paid for depends, and repeats it while the database is away. Rethrows its other errors, and throws
 * the signal's reason when that ends the wait. The write must be one that may be sent twice.
 */
export function persist<T>(work: () => Promise<T>, signal: AbortSignal): Promise<Repeated<T>> {
  const mayPass = (error: unknown) => isDatabaseOutage(error) || PASSING_STATE.test(sqlState(error) ?? '');
  return repeated(work, mayPass, async (tries) => {
    const milliseconds = Math.min(DATABASE_WAIT_MS_MIN * 2 ** tries, DATABASE_WAIT_MS_MAX);
    await delay(milliseconds, undefined, { signal }).catch((aborted: unknown) => {
      signal.throwIfAborted();
      throw aborted;
    });
  });
}

/**
 * Waits for a storage that is away, with the output in the scratch folder, until the attempt's signal ends the wait: at the task's
 * deadline, or when the process shuts down. Waiting work keeps its place, so no more is started than there are places.
 */
export class StorageRetry {
  readonly #log: Logger;
  #waiting = 0;
  #toldAt = Number.NEGATIVE_INFINITY;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Number of attempts of this process that wait. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Does the work, and repeats it while the storage is away. Rethrows its other errors, and throws StorageWaitError when the signal
   * ends the wait.
   */
  async run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const { answer } = await repeated(work, isStorageOutage, async (tries, error) => {
      this.#tell(error);
      await this.#wait(Math.min(STORAGE_WAIT_MS_MIN * 2 ** tries, STORAGE_WAIT_MS_MAX), signal, error);
    });
    return answer;
  }

  async #wait(milliseconds: number, signal: AbortSignal, cause: unknown): Promise<void> {
    this.#waiting += 1;
    try {
      await delay(milliseconds, undefined, { signal });
    } catch {
      throw new StorageWaitError('the storage was away until the attempt ended', { cause });
    } finally {
      this.#waiting -= 1;
    }
  }

  #tell(error: unknown): void {
    if (performance.now() - this.#toldAt >= REPEAT_MS) {
      this.#toldAt = performance.now();
      const fault =
        error instanceof StorageError ? 'the storage is away' : 'the disk is full or cannot be written';
      this.#log.error({ error }, `${fault}: finished work waits for it`);
    }
  }
}

/** Does the work until it succeeds, fails with another error than an outage, or `wait`, called with the number of earlier waits, throws. */
async function repeated<T>(
  work: () => Promise<T>,
  isOutage: (error: unknown) => boolean,
  wait: (tries: number, error: unknown) => Promise<void>,
): Promise<Repeated<T>> {
  for (let tries = 0; ; tries += 1) {
    try {
      return { answer: await work(), isRepeated: tries > 0 };
    } catch (error) {
      if (!isOutage(error)) {
        throw error;
      }
      await wait(tries, error);
    }
  }
}

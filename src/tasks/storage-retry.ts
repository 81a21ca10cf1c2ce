import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../lib/logger.ts';
import { StorageError } from '../media/storage-error.ts';

const WAIT_MS_MIN = 500;
const WAIT_MS_MAX = 5_000;
/** Minimum ms between two log lines about the same outage. */
const REPEAT_MS = 30_000;
/** Error codes of a file system that is full, read-only, broken, or on a host that is away: for the scratch disk, not the storage. */
const OUTAGE_CODES = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'ESTALE', 'ENOTCONN', 'EHOSTDOWN']);

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
  return error instanceof StorageError || (typeof code === 'string' && OUTAGE_CODES.has(code));
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
    for (let tries = 0; ; tries += 1) {
      try {
        return await work();
      } catch (error) {
        if (!isStorageOutage(error)) {
          throw error;
        }
        this.#tell(error);
        await this.#wait(Math.min(WAIT_MS_MIN * 2 ** tries, WAIT_MS_MAX), signal, error);
      }
    }
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
      this.#log.error({ error }, 'the storage is away: finished work waits for it');
    }
  }
}

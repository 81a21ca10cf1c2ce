import type { Logger } from '../lib/logger.ts';
import type { Storage } from '../media/storage.types.ts';
import type { TaskRetentionStore } from './task-retention.store.ts';

export interface RetentionSettings {
  /** Days for which the rows of ended tasks are kept. */
  readonly taskDays: number;
}

/** Tasks whose files are deleted before they are marked together; each file is a request to the storage. */
const MEDIA_BATCH = 500;
const FILES_TOGETHER = 16;
const ROW_BATCH = 1_000;
/** Maximum ms of a run: less than the job's timeout and the pause until its next run, which continues with the rest. */
const MEDIA_RUN_MS = 50_000;
const ROWS_RUN_MS = 240_000;

/** Deletes media and rows whose retention is over. */
export class RetentionService {
  readonly #store: TaskRetentionStore;
  readonly #storage: Pick<Storage, 'delete'>;
  readonly #settings: RetentionSettings;
  readonly #log: Logger;

  constructor(
    store: TaskRetentionStore,
    storage: Pick<Storage, 'delete'>,
    settings: RetentionSettings,
    log: Logger,
  ) {
    this.#store = store;
    this.#storage = storage;
    this.#settings = settings;
    this.#log = log;
  }

  /** Deletes expired files, then their records. A file that cannot be deleted is retried by the next run. Returns the number of tasks. */
  async expireMedia(signal: AbortSignal): Promise<number> {
    let expired = 0;
    const end = performance.now() + MEDIA_RUN_MS;
    while (!signal.aborted && performance.now() < end) {
      const found = await this.#store.findExpiredMedia(MEDIA_BATCH);
      const cleared: string[] = [];
      const waiting = found.values();
      const clear = async () => {
        for (const { taskId, storageKeys } of waiting) {
          if (await this.#deleteAll(storageKeys)) {
            cleared.push(taskId);
          }
        }
      };
      await Promise.all(Array.from({ length: FILES_TOGETHER }, clear));
      await this.#store.markMediaDeleted(cleared);
      expired += cleared.length;
      if (found.length < MEDIA_BATCH || cleared.length === 0) {
        break;
      }
    }
    return expired;
  }

  /**
   * Deletes rows of tasks that ended long ago, old alert deliveries, and workers that have long been silent. Returns the number of
   * tasks.
   */
  async expireTasks(signal: AbortSignal): Promise<number> {
    const days = this.#settings.taskDays;
    const deleted = await inBatches(signal, (limit) => this.#store.deleteOldTasks(days, limit));
    await inBatches(signal, (limit) => this.#store.deleteOldAlerts(days, limit));
    await this.#store.forgetSilentWorkers();
    return deleted;
  }

  async #deleteAll(keys: readonly string[]): Promise<boolean> {
    try {
      for (const key of keys) {
        await this.#storage.delete(key);
      }
      return true;
    } catch (error) {
      this.#log.warn({ error }, 'expired media could not be deleted');
      return false;
    }
  }
}

/** Deletes until a batch is not full or the time of a run is over. Returns the number of deleted rows. */
async function inBatches(
  signal: AbortSignal,
  deleteSome: (limit: number) => Promise<number>,
): Promise<number> {
  let deleted = 0;
  const end = performance.now() + ROWS_RUN_MS;
  while (!signal.aborted && performance.now() < end) {
    const count = await deleteSome(ROW_BATCH);
    deleted += count;
    if (count < ROW_BATCH) {
      break;
    }
  }
  return deleted;
}

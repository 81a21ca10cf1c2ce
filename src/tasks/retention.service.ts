import type { Logger } from '../lib/logger.ts';
import type { Storage } from '../media/storage.types.ts';
import type { TaskRetentionStore } from './task-retention.store.ts';

export interface RetentionSettings {
  /** Days the rows of ended tasks are kept. */
  readonly taskDays: number;
}

const BATCH = 100;
const BATCHES_MAX = 100;

/** Deletes media and rows whose time is over. */
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

  /** Deletes expired files, then the records of them. A file that resists is tried again by the next run. Returns how many tasks. */
  async expireMedia(signal: AbortSignal): Promise<number> {
    let expired = 0;
    for (let batch = 0; batch < BATCHES_MAX && !signal.aborted; batch += 1) {
      const found = await this.#store.findExpiredMedia(BATCH);
      const cleared: string[] = [];
      for (const media of found) {
        if (await this.#deleteAll(media.storageKeys)) {
          cleared.push(media.taskId);
        }
      }
      await this.#store.markMediaDeleted(cleared);
      expired += cleared.length;
      if (found.length < BATCH || cleared.length === 0) {
        break;
      }
    }
    return expired;
  }

  /** Deletes rows of tasks that ended long ago, old deliveries of alerts, and workers nobody has heard of. Returns how many tasks. */
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

/** Deletes until there is less than a batch. Returns how many. */
async function inBatches(
  signal: AbortSignal,
  deleteSome: (limit: number) => Promise<number>,
): Promise<number> {
  let deleted = 0;
  for (let batch = 0; batch < BATCHES_MAX && !signal.aborted; batch += 1) {
    const count = await deleteSome(BATCH);
    deleted += count;
    if (count < BATCH) {
      break;
    }
  }
  return deleted;
}

import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { ListedObject, Storage } from '../media/storage.types.ts';
import { taskOfKey } from '../media/storage-key.ts';
import type { TaskRetentionStore } from './task-retention.store.ts';

/** Prefixes under which tasks keep their files. */
const PREFIXES = ['acct/', 'raw/'] as const;
const PAGE = 500;
/** Maximum files checked in one sweep; the next one continues after them. */
const FILES_MAX = 50_000;
/** Ms for which a file is left alone, and a task after its end, so as not to disturb a worker that is storing or settling. */
const UNTOUCHED_MS = 3_600_000;
/**
 * The same for files of tasks without a row. Media live for a day, so anything this old belongs to nobody, even if the database of
 * another installation was connected to this storage by mistake.
 */
const UNKNOWN_MS = 7 * 86_400_000;

/** Finds files that no task lists, because a worker died after storing them, and deletes them. */
export class OrphanSweepService {
  readonly #store: Pick<TaskRetentionStore, 'findUnlisted'>;
  readonly #storage: Pick<Storage, 'list' | 'delete'>;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #filesMax: number;
  /** Where the last sweep stopped. */
  #position: { prefix: number; after: string | undefined } = { prefix: 0, after: undefined };

  constructor(
    store: Pick<TaskRetentionStore, 'findUnlisted'>,
    storage: Pick<Storage, 'list' | 'delete'>,
    { clock, log, filesMax = FILES_MAX }: { clock: Clock; log: Logger; filesMax?: number },
  ) {
    this.#store = store;
    this.#storage = storage;
    this.#clock = clock;
    this.#log = log;
    this.#filesMax = filesMax;
  }

  /** Makes one bounded sweep. Returns how many files were deleted. Throws StorageError when the storage cannot be listed. */
  async sweep(signal: AbortSignal): Promise<number> {
    let left = this.#filesMax;
    let deleted = 0;
    while (left > 0 && !signal.aborted) {
      const swept = await this.#sweepPrefix(left, signal);
      left -= swept.files;
      deleted += swept.deleted;
      if (!swept.ended || this.#advance()) {
        break;
      }
    }
    if (deleted > 0) {
      this.#log.info({ files: deleted }, 'files that no task lists were deleted');
    }
    return deleted;
  }

  /** Checks files of the current prefix, in one listing for all pages: a listing reads and sorts a whole folder before its first file. */
  async #sweepPrefix(
    filesMax: number,
    signal: AbortSignal,
  ): Promise<{ files: number; deleted: number; ended: boolean }> {
    const { prefix, after } = this.#position;
    let page: ListedObject[] = [];
    let [files, deleted] = [0, 0];
    const clearPage = async () => {
      deleted += await this.#clear(page);
      this.#position = { prefix, after: page.at(-1)?.key ?? this.#position.after };
      page = [];
    };
    let ended = true;
    for await (const object of this.#storage.list(PREFIXES[prefix] ?? PREFIXES[0], after)) {
      page.push(object);
      files += 1;
      if (page.length === PAGE) {
        await clearPage();
      }
      if (files === filesMax || signal.aborted) {
        ended = false;
        break;
      }
    }
    await clearPage();
    return { files, deleted, ended };
  }

  /** Moves on to the next prefix. Returns true when that was the last one. */
  #advance(): boolean {
    const next = this.#position.prefix + 1;
    this.#position = { prefix: next % PREFIXES.length, after: undefined };
    return next === PREFIXES.length;
  }

  async #clear(page: readonly ListedObject[]): Promise<number> {
    const ages = new Map(page.map(({ key, storedAtMs }) => [key, this.#clock.now() - storedAtMs]));
    const files = page.flatMap(({ key }) => {
      const taskId = taskOfKey(key);
      return taskId !== undefined && (ages.get(key) ?? 0) > UNTOUCHED_MS ? [{ taskId, storageKey: key }] : [];
    });
    if (files.length === 0) {
      return 0;
    }
    const unlisted = await this.#store.findUnlisted(files, UNTOUCHED_MS);
    const orphans = unlisted.filter(
      ({ storageKey, ofEndedTask }) => ofEndedTask || (ages.get(storageKey) ?? 0) > UNKNOWN_MS,
    );
    let deleted = 0;
    for (const { storageKey } of orphans) {
      await this.#storage.delete(storageKey).then(
        () => {
          deleted += 1;
        },
        (error: unknown) => this.#log.warn({ error }, 'a file that no task lists could not be deleted'),
      );
    }
    return deleted;
  }
}

import { byCell, type Cells, inAll } from '../store/cells.ts';
import { run, type SqlStatement } from '../store/statement.ts';
import {
  deleteOldAlerts,
  deleteOldTasks,
  deleteTask,
  findExpiredMedia,
  findUnlisted,
  forgetSilentWorkers,
  markMediaDeleted,
} from './task-retention.sql.ts';

export interface ExpiredMedia {
  readonly taskId: string;
  readonly storageKeys: readonly string[];
}

/** A stored file, and the task that its key names. */
export interface TaskFile {
  readonly taskId: string;
  readonly storageKey: string;
}

export interface UnlistedFile {
  readonly storageKey: string;
  /** False when there is no such task (any more). */
  readonly ofEndedTask: boolean;
}

const SILENT_WORKER_DAYS = 1;

/** Deletes what is past its retention. The ledger and the generations stay. */
export class TaskRetentionStore {
  readonly #cells: Cells;

  constructor(cells: Cells) {
    this.#cells = cells;
  }

  /** Returns up to `limit` tasks per cell whose files have expired. */
  async findExpiredMedia(limit: number): Promise<ExpiredMedia[]> {
    const rows = await inAll(this.#cells, ({ money }) =>
      run<{ id: string; keys: string[] }>(money, findExpiredMedia, [limit]),
    );
    return rows.map((row) => ({ taskId: row.id, storageKeys: row.keys }));
  }

  /** Records that the files are gone: deletes their keys, and the prompt if it was kept. */
  async markMediaDeleted(taskIds: readonly string[]): Promise<void> {
    const marking = byCell(taskIds, (id) => this.#cells.ofOwned(id)).map(({ cell, items }) =>
      run(cell.money, markMediaDeleted, [items]),
    );
    await Promise.all(marking);
  }

  /** Deletes up to `limit` rows per cell of tasks that ended more than `days` ago. Returns how many. */
  async deleteOldTasks(days: number, limit: number): Promise<number> {
    return (await this.#inAll(deleteOldTasks, days, limit)).length;
  }

  /** Deletes up to `limit` alert deliveries per cell that are older than `days`. Returns how many. */
  async deleteOldAlerts(days: number, limit: number): Promise<number> {
    return (await this.#inAll(deleteOldAlerts, days, limit)).length;
  }

  /** Deletes an ended task. Returns false when it is live, gone or another account's. */
  async deleteTask(taskId: string, accountId: string): Promise<boolean> {
    return (await run(this.#cells.of(accountId).money, deleteTask, [taskId, accountId])).length === 1;
  }

  /**
   * Returns those of the stored files that no task lists: left behind by a worker that died between storing and settling. Never
   * includes files of tasks that are in progress or ended less than `endedMs` ago.
   */
  async findUnlisted(files: readonly TaskFile[], endedMs: number): Promise<UnlistedFile[]> {
    const reads = byCell(files, (file) => this.#cells.ofOwned(file.taskId)).map(({ cell, items }) =>
      run<{ key: string; of_ended: boolean }>(cell.money, findUnlisted, [
        items.map((file) => file.taskId),
        items.map((file) => file.storageKey),
        endedMs,
      ]),
    );
    return (await Promise.all(reads))
      .flat()
      .map((row) => ({ storageKey: row.key, ofEndedTask: row.of_ended }));
  }

  /** Deletes workers that have been silent for a day. */
  async forgetSilentWorkers(): Promise<void> {
    await run(this.#cells.home.money, forgetSilentWorkers, [SILENT_WORKER_DAYS]);
  }

  #inAll(statement: SqlStatement, days: number, limit: number): Promise<object[]> {
    return inAll(this.#cells, ({ money }) => run(money, statement, [days, limit]));
  }
}

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

/** A stored file, and the task its key names. */
export interface TaskFile {
  readonly taskId: string;
  readonly storageKey: string;
}

export interface UnlistedFile {
  readonly storageKey: string;
  /** False: there is no such task (any more). */
  readonly ofEndedTask: boolean;
}

const SILENT_WORKER_DAYS = 1;

/** What goes when its time is over. The ledger and the generations stay. */
export class TaskRetentionStore {
  readonly #cells: Cells;

  constructor(cells: Cells) {
    this.#cells = cells;
  }

  /** Up to `limit` tasks of a cell whose files have expired. */
  async findExpiredMedia(limit: number): Promise<ExpiredMedia[]> {
    const rows = await inAll(this.#cells, ({ money }) =>
      run<{ id: string; keys: string[] }>(money, findExpiredMedia, [limit]),
    );
    return rows.map((row) => ({ taskId: row.id, storageKeys: row.keys }));
  }

  /** After the files are gone: forgets their keys, and the prompt where it was kept. */
  async markMediaDeleted(taskIds: readonly string[]): Promise<void> {
    const marking = byCell(taskIds, (id) => this.#cells.ofOwned(id)).map(({ cell, items }) =>
      run(cell.money, markMediaDeleted, [items]),
    );
    await Promise.all(marking);
  }

  /** Deletes up to `limit` rows of a cell's tasks that ended more than `days` ago. Returns how many. */
  async deleteOldTasks(days: number, limit: number): Promise<number> {
    return (await this.#inAll(deleteOldTasks, days, limit)).length;
  }

  /** Deletes up to `limit` of a cell's deliveries of alerts that are older than `days`. Returns how many. */
  async deleteOldAlerts(days: number, limit: number): Promise<number> {
    return (await this.#inAll(deleteOldAlerts, days, limit)).length;
  }

  /** Deletes an ended task; false when it is live, gone or another account's. */
  async deleteTask(taskId: string, accountId: string): Promise<boolean> {
    return (await run(this.#cells.of(accountId).money, deleteTask, [taskId, accountId])).length === 1;
  }

  /**
   * Which of these stored files no task lists: left behind by a worker that died between storing and settling. Files of tasks that are
   * under way, or ended less than `endedMs` ago, are never among them.
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

  /** Forgets workers not heard of for a day. */
  async forgetSilentWorkers(): Promise<void> {
    await run(this.#cells.home.money, forgetSilentWorkers, [SILENT_WORKER_DAYS]);
  }

  #inAll(statement: SqlStatement, days: number, limit: number): Promise<object[]> {
    return inAll(this.#cells, ({ money }) => run(money, statement, [days, limit]));
  }
}

import type pg from 'pg';
import { run } from '../store/statement.ts';
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
  readonly #pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  /** Up to `limit` tasks whose files have expired. */
  async findExpiredMedia(limit: number): Promise<ExpiredMedia[]> {
    const rows = await run<{ id: string; keys: string[] }>(this.#pool, findExpiredMedia, [limit]);
    return rows.map((row) => ({ taskId: row.id, storageKeys: row.keys }));
  }

  /** After the files are gone: forgets their keys, and the prompt where it was kept. */
  async markMediaDeleted(taskIds: readonly string[]): Promise<void> {
    await run(this.#pool, markMediaDeleted, [[...taskIds]]);
  }

  /** Deletes up to `limit` rows of tasks that ended more than `days` ago. Returns how many. */
  async deleteOldTasks(days: number, limit: number): Promise<number> {
    return (await run(this.#pool, deleteOldTasks, [days, limit])).length;
  }

  /** Deletes up to `limit` deliveries of alerts that are older than `days`. Returns how many. */
  async deleteOldAlerts(days: number, limit: number): Promise<number> {
    return (await run(this.#pool, deleteOldAlerts, [days, limit])).length;
  }

  /** Deletes an ended task; false when it is live, gone or another account's. */
  async deleteTask(taskId: string, accountId: string): Promise<boolean> {
    return (await run(this.#pool, deleteTask, [taskId, accountId])).length === 1;
  }

  /**
   * Which of these stored files no task lists: left behind by a worker that died between storing and settling. Files of tasks that are
   * under way, or ended less than `endedMs` ago, are never among them.
   */
  async findUnlisted(files: readonly TaskFile[], endedMs: number): Promise<UnlistedFile[]> {
    const rows = await run<{ key: string; of_ended: boolean }>(this.#pool, findUnlisted, [
      files.map((file) => file.taskId),
      files.map((file) => file.storageKey),
      endedMs,
    ]);
    return rows.map((row) => ({ storageKey: row.key, ofEndedTask: row.of_ended }));
  }

  /** Forgets workers not heard of for a day. */
  async forgetSilentWorkers(): Promise<void> {
    await run(this.#pool, forgetSilentWorkers, [SILENT_WORKER_DAYS]);
  }
}

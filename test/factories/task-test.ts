import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import { EVERY_TASK } from '../../src/tasks/task-reads.store.ts';
import type { TaskResult } from '../../src/tasks/task-results.service.ts';
import { createTestDatabase, type TestDatabase } from '../setup/database.ts';
import { eventually } from './eventually.ts';
import { ScriptedEngine } from './task-engine.ts';
import { customer, type TestCustomer } from './task-order.ts';
import { createTaskStack, type TaskStack, type TaskStackOptions } from './task-stack.ts';
import { ownTemporaryFolder } from './temporary-folder.ts';

export interface TaskTestOptions
  extends Partial<Omit<TaskStackOptions, 'database' | 'databaseUrl' | 'folder'>> {
  /** Number of a separate Redis database, for tests that flush it. */
  readonly redisDatabase?: number;
  readonly credits?: string;
}

/** A database, a folder, a scripted engine, the whole asynchronous path over them, and one customer. */
export class TaskTest {
  readonly database: TestDatabase;
  readonly stack: TaskStack;
  readonly who: TestCustomer;
  readonly folder: string;
  readonly journal: string;
  readonly redisUrl: string;
  readonly pool: pg.Pool;

  private constructor(parts: {
    database: TestDatabase;
    stack: TaskStack;
    who: TestCustomer;
    folder: string;
    redisUrl: string;
  }) {
    this.database = parts.database;
    this.stack = parts.stack;
    this.who = parts.who;
    this.folder = parts.folder;
    this.redisUrl = parts.redisUrl;
    this.journal = join(parts.folder, 'journal');
    this.pool = parts.database.database.money;
  }

  static async open(options: TaskTestOptions = {}): Promise<TaskTest> {
    const database = await createTestDatabase();
    const folder = ownTemporaryFolder('tasks');
    const redisUrl = redisDatabaseUrl(options.redisDatabase ?? 0);
    const stack = await createTaskStack({
      database: database.database,
      databaseUrl: database.url,
      redisUrl,
      engine: new ScriptedEngine(join(folder, 'journal')),
      folder,
      ...options,
    });
    const who = await customer(database.database, options.credits);
    return new TaskTest({ database, stack, who, folder, redisUrl });
  }

  async close(): Promise<void> {
    await this.stack.close();
    await rm(this.folder, { recursive: true, force: true });
    await this.database.close();
  }

  /** Resolves to the result once the task has ended. */
  async ended(id: string, timeoutMs = 30_000): Promise<TaskResult> {
    return await eventually(
      async () => {
        const result = await this.stack.results.read(id, EVERY_TASK);
        return result.task.completedAt ? result : undefined;
      },
      timeoutMs,
      `the end of task ${id}`,
    );
  }

  /** Resolves as soon as the task is in that state. */
  async inState(id: string, state: string): Promise<void> {
    await eventually(
      async () => (await this.stack.reads.findTask(id, EVERY_TASK))?.state === state,
      30_000,
      `state ${state} of task ${id}`,
    );
  }

  /** Returns the charges of a task in the ledger, in nano-USD. */
  async charges(id: string): Promise<string[]> {
    const { rows } = await this.pool.query<{ amount: string }>(
      "SELECT amount FROM ledger_entries WHERE reference = $1 AND type = 'usage_charge'",
      [id],
    );
    return rows.map((row) => row.amount);
  }

  async openHolds(): Promise<number> {
    const { rows } = await this.pool.query<{ count: string }>('SELECT count(*) FROM holds');
    return Number(rows[0]?.count);
  }

  /** Returns the task's event log, in order. */
  async events(id: string): Promise<string[]> {
    const { rows } = await this.pool.query<{ state: string; detail: string | null }>(
      'SELECT state, detail FROM task_events WHERE task_id = $1 ORDER BY id',
      [id],
    );
    return rows.map((row) => (row.detail ? `${row.state} ${row.detail}` : row.state));
  }
}

function redisDatabaseUrl(number: number): string {
  const url = new URL(process.env.TEST_REDIS_URL ?? '');
  url.pathname = `/${number}`;
  return url.href;
}

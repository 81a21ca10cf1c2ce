import type pg from 'pg';
import { run } from '../store/statement.ts';
import { countWaiting, moveTasks } from './task-overflow.sql.ts';
import { TASK_CHANNEL } from './task-signals.store.ts';

/** A move of a model's tasks from one pool to another. */
export interface TaskMove {
  readonly model: string;
  readonly from: string;
  readonly to: string;
  /** The engine's name for the model in the pool they move to. */
  readonly upstreamModel: string;
  /** Ms that they must have waited since their order. */
  readonly waitedMs: number;
  /** Whether runs are billed in the pool that they leave. */
  readonly isBilled: boolean;
}

/** Counts the tasks that wait for a pool, and moves them to another. */
export class TaskOverflowStore {
  readonly #pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  /** Returns how many tasks wait for each pool; pools without any are omitted. */
  async waiting(pools: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const rows = await run<{ pool: string; tasks: number }>(this.#pool, countWaiting, [pools]);
    return new Map(rows.map(({ pool, tasks }) => [pool, tasks]));
  }

  /** Moves waiting tasks. Returns how many moved, at most `limit`. */
  async move(
    { model, from, to, upstreamModel, waitedMs, isBilled }: TaskMove,
    limit: number,
  ): Promise<number> {
    const values = [model, from, to, upstreamModel, waitedMs, limit, TASK_CHANNEL, isBilled];
    return (await run(this.#pool, moveTasks, values)).length;
  }
}

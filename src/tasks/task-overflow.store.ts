import type pg from 'pg';
import { run } from '../store/statement.ts';
import { countWaiting, moveTasks } from './task-overflow.sql.ts';
import { TASK_CHANNEL } from './task-signals.store.ts';

/** Tasks of a model that go from one pool to another. */
export interface TaskMove {
  readonly model: string;
  readonly from: string;
  readonly to: string;
  /** The engine's name of the model there. */
  readonly upstreamModel: string;
  /** Ms that they have waited since their order. */
  readonly waitedMs: number;
  /** Whether runs are billed in the pool that they leave. */
  readonly isBilled: boolean;
}

/** Which pool the waiting tasks stand at. */
export class TaskOverflowStore {
  readonly #pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  /** How many tasks wait for each of the pools; those without any are left out. */
  async waiting(pools: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const rows = await run<{ pool: string; tasks: number }>(this.#pool, countWaiting, [pools]);
    return new Map(rows.map(({ pool, tasks }) => [pool, tasks]));
  }

  /** Returns how many went, at most `limit`. */
  async move(
    { model, from, to, upstreamModel, waitedMs, isBilled }: TaskMove,
    limit: number,
  ): Promise<number> {
    const values = [model, from, to, upstreamModel, waitedMs, limit, TASK_CHANNEL, isBilled];
    return (await run(this.#pool, moveTasks, values)).length;
  }
}

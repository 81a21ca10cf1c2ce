import type { Cells } from '../store/cells.ts';
import { run } from '../store/statement.ts';
import { preferLoaded } from './task-affinity.sql.ts';

/** Accounts that one search covers, and tasks of each whose turn may have come. */
const ACCOUNTS_MAX = 200;
const TASKS_PER_ACCOUNT = 32;
/** More than one, because others may claim the first at the same time. */
const CANDIDATES_MAX = 4;

/** Finds the tasks that suit a worker best among those whose turn has come. */
export class TaskAffinityStore {
  readonly #cells: Cells;

  constructor(cells: Cells) {
    this.#cells = cells;
  }

  /**
   * Returns the tasks of the pool that a worker with these models loaded should try to claim in the turn of `taskId`, best first;
   * empty when none waits. A task that is passed over lets others go first for `patienceMs` at most. Claims nothing.
   */
  async prefer(
    taskId: string,
    pool: string,
    loaded: readonly string[],
    patienceMs: number,
  ): Promise<string[]> {
    const rows = await run<{ id: string }>(this.#cells.ofOwned(taskId).money, preferLoaded, [
      pool,
      taskId,
      loaded,
      patienceMs,
      ACCOUNTS_MAX,
      TASKS_PER_ACCOUNT,
      CANDIDATES_MAX,
    ]);
    return rows.map(({ id }) => id);
  }
}

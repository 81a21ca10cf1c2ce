import { type Cells, inAll } from '../store/cells.ts';
import { run, type SqlStatement } from '../store/statement.ts';
import type { TaskState } from './task-state.ts';
import { findCanceling, findOverdue, lapseLeases, requestCancel } from './task-sweep.sql.ts';
import type { CancelablePools, TaskKind } from './tasks.types.ts';

/** What is needed to end a task without having claimed it. */
export interface EndableTask {
  readonly id: string;
  readonly accountId: string;
  readonly apiKeyId: string;
  readonly kind: TaskKind;
  readonly state: TaskState;
  readonly createdAt: Date;
}

/** Finds tasks that no process takes care of any more. */
export class TaskSweepStore {
  readonly #cells: Cells;

  constructor(cells: Cells) {
    this.#cells = cells;
  }

  /** Takes up to `limit` tasks per cell away from workers that stopped renewing. Returns how many. */
  async lapseLeases(limit: number): Promise<number> {
    return (await inAll(this.#cells, ({ money }) => run(money, lapseLeases, [limit]))).length;
  }

  /** Returns tasks past their deadline, up to `limit` per cell. */
  async findOverdue(limit: number): Promise<EndableTask[]> {
    return (await this.#inAll(findOverdue, limit)).map(toEndable);
  }

  /** Returns canceled tasks that wait, so that no worker would end them, up to `limit` per cell. */
  async findCanceling(limit: number): Promise<EndableTask[]> {
    return (await this.#inAll(findCanceling, limit)).map(toEndable);
  }

  /**
   * Sets the cancel flag where the cancel can be honored: on queued tasks, on running ones of stoppable pools, and on generated ones of
   * discardable pools. Undefined when the task has ended, cannot be stopped, or is not the account's. With the flag set no worker can claim the task.
   */
  async requestCancel(
    taskId: string,
    accountId: string,
    { stoppable, discardable }: CancelablePools,
  ): Promise<EndableTask | undefined> {
    const [row] = await run<EndableRow>(this.#cells.of(accountId).money, requestCancel, [
      taskId,
      accountId,
      stoppable,
      discardable,
    ]);
    return row && toEndable(row);
  }

  #inAll(statement: SqlStatement, limit: number): Promise<EndableRow[]> {
    return inAll(this.#cells, ({ money }) => run<EndableRow>(money, statement, [limit]));
  }
}

interface EndableRow {
  id: string;
  account_id: string;
  api_key_id: string;
  kind: TaskKind;
  state: TaskState;
  created_at: Date;
}

function toEndable(row: EndableRow): EndableTask {
  return {
    id: row.id,
    accountId: row.account_id,
    apiKeyId: row.api_key_id,
    kind: row.kind,
    state: row.state,
    createdAt: row.created_at,
  };
}

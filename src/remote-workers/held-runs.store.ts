import { byCell, type Cells } from '../store/cells.ts';
import { run } from '../store/statement.ts';
import type { EndingTask } from '../tasks/task-endings.ts';
import type { TaskKind } from '../tasks/tasks.types.ts';
import { findHeldRun, findHeldRuns } from './held-runs.sql.ts';

/** The calling worker: its full name, and the pools of its token. */
export interface Holder {
  readonly worker: string;
  readonly pools: readonly string[];
}

/** A task that a worker holds while it generates it. */
export interface HeldRun extends EndingTask {
  readonly kind: TaskKind;
  readonly pool: string;
  readonly attempt: number;
  readonly upstreamModel: string;
}

/** Finds tasks held by workers on other hosts. Returns a task only to the worker that holds it. */
export class HeldRunsStore {
  readonly #cells: Cells;

  constructor(cells: Cells) {
    this.#cells = cells;
  }

  async find(taskId: string, attempt: number, { worker, pools }: Holder): Promise<HeldRun | undefined> {
    const [row] = await run<HeldRow>(this.#cells.ofOwned(taskId).money, findHeldRun, [
      taskId,
      attempt,
      worker,
      pools,
    ]);
    return (
      row && {
        id: row.id,
        accountId: row.account_id,
        apiKeyId: row.api_key_id,
        createdAt: row.created_at,
        kind: row.kind,
        pool: row.pool,
        attempt,
        upstreamModel: row.upstream_model,
      }
    );
  }

  /** Returns those of the leases that the worker holds. */
  async held<Held extends { readonly id: string; readonly attempt: number }>(
    leases: readonly Held[],
    { worker, pools }: Holder,
  ): Promise<Held[]> {
    const reads = byCell(leases, ({ id }) => this.#cells.ofOwned(id)).map(({ cell, items }) => {
      const values = [items.map(({ id }) => id), items.map(({ attempt }) => attempt), worker, pools];
      return run<{ id: string; attempt: number }>(cell.money, findHeldRuns, values);
    });
    const held = new Set((await Promise.all(reads)).flat().map(({ id, attempt }) => `${id}/${attempt}`));
    return leases.filter(({ id, attempt }) => held.has(`${id}/${attempt}`));
  }
}

interface HeldRow {
  id: string;
  account_id: string;
  api_key_id: string;
  created_at: Date;
  kind: TaskKind;
  pool: string;
  upstream_model: string;
}

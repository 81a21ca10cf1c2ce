import type { Cells } from '../store/cells.ts';
import { readRows } from '../store/report.ts';
import type { TaskState } from '../tasks/task-state.ts';
import type { TaskKind } from '../tasks/tasks.types.ts';
import { operatorTask, operatorTasksPage, taskHistory } from './operator-tasks.sql.ts';

/** One run on an engine or provider, as recorded by the settlement. */
export interface TaskRunRow {
  readonly provider: string;
  readonly model: string;
  readonly outcome: string;
  readonly latencyMs: number;
  /** The upstream's message about the failure. */
  readonly said?: string;
  readonly cost?: string;
}

/** A task with everything an operator may see; amounts are nano-USD as decimal text. Never the prompt. */
export interface OperatorTaskRow {
  readonly id: string;
  readonly account_id: string;
  readonly api_key_hash: string;
  readonly request_id: string | null;
  /** Its hold or generation, if that still exists. The request is derived from it when none is stored. */
  readonly call_id: string | null;
  readonly endpoint: string;
  readonly model: string;
  readonly kind: TaskKind;
  readonly pool: string;
  readonly state: TaskState;
  readonly seed: string;
  /** Price agreed on submit. */
  readonly charge: string;
  readonly held: string;
  readonly charged: string;
  readonly provider_cost: string | null;
  readonly runs: readonly TaskRunRow[];
  readonly attempt: number;
  readonly generation_runs: number;
  readonly failures: number;
  readonly interruptions: number;
  readonly worker: string | null;
  readonly lease_until: Date | null;
  readonly not_before: Date;
  readonly dispatched_at: Date | null;
  readonly dispatches: number;
  readonly engine: string | null;
  readonly engine_reference: string | null;
  readonly progress: number;
  readonly cancel_requested_at: Date | null;
  readonly error_code: string | null;
  readonly error_message: string | null;
  /** Whether the order is still stored, so that it can be repeated. */
  readonly has_parameters: boolean;
  readonly created_at: Date;
  readonly started_at: Date | null;
  readonly completed_at: Date | null;
  readonly deadline_at: Date;
}

export interface TaskEventRow {
  readonly at: Date;
  readonly state: string;
  readonly attempt: number;
  readonly detail: string | null;
  /** The upstream's message about a failed run. */
  readonly said: string | null;
  /** What the run cost us, in nano-USD, if the engine bills failed runs. */
  readonly cost: string | null;
}

export interface OperatorTaskFilter {
  readonly accountId: string | null;
  readonly state: TaskState | null;
  /** Only tasks with a lower id. */
  readonly beforeId: string | null;
  readonly limit: number;
}

const EVENTS_MAX = 1_000;

/** Reads the tasks of all accounts. */
export class OperatorTasksReadModel {
  readonly #cells: Cells;

  constructor(cells: Cells) {
    this.#cells = cells;
  }

  async find(id: string): Promise<OperatorTaskRow | undefined> {
    return (await readRows<OperatorTaskRow>(this.#cells.ofOwned(id).sequelize, operatorTask, [id]))[0];
  }

  /** Lists tasks, newest first. */
  list(filter: OperatorTaskFilter): Promise<OperatorTaskRow[]> {
    const { accountId, state, beforeId, limit } = filter;
    return readRows<OperatorTaskRow>(this.#cells.sole.sequelize, operatorTasksPage, [
      accountId,
      state,
      beforeId,
      limit,
    ]);
  }

  /** Returns the history of a task, oldest first, at most the first thousand events. */
  history(id: string): Promise<TaskEventRow[]> {
    return readRows<TaskEventRow>(this.#cells.ofOwned(id).sequelize, taskHistory, [id, EVENTS_MAX]);
  }
}

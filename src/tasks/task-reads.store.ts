import type pg from 'pg';
import type { TaskOutput } from '../ledger/ledger.types.ts';
import { nanoUsd } from '../lib/money.ts';
import { byCell, type Cells, inAll } from '../store/cells.ts';
import { run, type SqlStatement } from '../store/statement.ts';
import {
  countQueued,
  findEnded,
  findTask,
  listOutputs,
  listTasks,
  ownTurn,
  queueByAccount,
  typicalDuration,
} from './task-reads.sql.ts';
import type { TaskState } from './task-state.ts';
import type { TaskKind, TaskView } from './tasks.types.ts';

/** The tasks that a caller may see: an inference key sees its own, an owner key those of its account, the service all. */
export interface TaskScope {
  readonly accountId: string | null;
  readonly apiKeyId: string | null;
}

/** The scope of a caller: never more than one account. */
export interface AccountScope extends TaskScope {
  readonly accountId: string;
}

/** The service's own scope, for work on nobody's behalf. */
export const EVERY_TASK: TaskScope = { accountId: null, apiKeyId: null };

export interface TaskListFilter {
  readonly scope: AccountScope;
  /** Only tasks older than this one: the keyset of the next page. */
  readonly beforeId: string | null;
  readonly states: readonly TaskState[] | null;
  readonly model: string | null;
  readonly createdAfter: Date | null;
  readonly createdBefore: Date | null;
  readonly kind: TaskKind | null;
  /** Hash of the key that placed the order. */
  readonly apiKeyHash: string | null;
  readonly limit: number;
}

/** Reads for the API. */
export class TaskReadsStore {
  readonly #cells: Cells;

  constructor(cells: Cells) {
    this.#cells = cells;
  }

  /** Returns a task; undefined also for one outside the scope. */
  async findTask(taskId: string, scope: TaskScope): Promise<TaskView | undefined> {
    const { accountId, apiKeyId } = scope;
    const cell = accountId === null ? this.#cells.ofOwned(taskId) : this.#cells.of(accountId);
    const [row] = await run<TaskRow>(cell.money, findTask, [taskId, accountId, apiKeyId]);
    return row && toView(row);
  }

  /** Returns the tasks that match, newest first. */
  async listTasks(filter: TaskListFilter): Promise<TaskView[]> {
    const { scope, beforeId, states, model, createdAfter, createdBefore, kind, apiKeyHash, limit } = filter;
    const wanted = [states, model, createdAfter, createdBefore, kind, apiKeyHash];
    const values = [scope.accountId, beforeId, ...wanted, scope.apiKeyId, limit];
    return (await run<TaskRow>(this.#cells.of(scope.accountId).money, listTasks, values)).map(toView);
  }

  /** Returns the stored files of each task, by task id, in order of index and variant. */
  async listOutputs(taskIds: readonly string[]): Promise<Map<string, TaskOutput[]>> {
    const found = new Map<string, TaskOutput[]>();
    for (const row of await this.#ofTasks<OutputRow>(listOutputs, taskIds)) {
      const outputs = found.get(row.task_id) ?? [];
      outputs.push(toOutput(row));
      found.set(row.task_id, outputs);
    }
    return found;
  }

  /** Returns those of the tasks that have ended or no longer exist. */
  async findEnded(taskIds: readonly string[]): Promise<string[]> {
    const rows = await this.#ofTasks<{ id: string }>(findEnded, taskIds);
    return rows.map((row) => row.id);
  }

  /** Returns how many tasks of the account wait for the pool, counting no further than `most`. */
  async countQueued(enginePool: string, accountId: string, most: number): Promise<number> {
    const rows = await run<{ tasks: number }>(this.#cells.of(accountId).money, countQueued, [
      enginePool,
      accountId,
      most,
    ]);
    return rows[0]?.tasks ?? 0;
  }

  /** Returns the number of waiting tasks of an engine pool by account. */
  async queueByAccount(enginePool: string): Promise<Map<string, number>> {
    const rows = await inAll(this.#cells, ({ money }) =>
      run<{ account_id: string; tasks: number }>(money, queueByAccount, [enginePool]),
    );
    return new Map(rows.map((row) => [row.account_id, row.tasks]));
  }

  /** Returns a waiting task's place among those of its own account, from 1. */
  async ownTurn(enginePool: string, accountId: string, taskId: string): Promise<number> {
    const [row] = await run<{ turn: number }>(this.#cells.of(accountId).money, ownTurn, [
      enginePool,
      accountId,
      taskId,
    ]);
    return row?.turn ?? 0;
  }

  /** Returns the median ms from start to end of the model's latest successes; undefined when there are none. */
  async typicalDurationMs(model: string): Promise<number | undefined> {
    const [row] = await run<{ ms: number | null }>(this.#cells.sole.money, typicalDuration, [model]);
    return row?.ms ?? undefined;
  }

  /** Runs a statement whose only parameter is a list of task ids. */
  async #ofTasks<Row extends pg.QueryResultRow>(
    statement: SqlStatement,
    taskIds: readonly string[],
  ): Promise<Row[]> {
    const reads = byCell(taskIds, (id) => this.#cells.ofOwned(id)).map(({ cell, items }) =>
      run<Row>(cell.money, statement, [items]),
    );
    return (await Promise.all(reads)).flat();
  }
}

interface TaskRow {
  id: string;
  account_id: string;
  api_key_hash: string;
  endpoint: string;
  model: string;
  kind: TaskKind;
  pool: string;
  state: TaskState;
  seed: string;
  charge: string;
  generation_runs: number;
  failures: number;
  progress: number;
  engine_position: number | null;
  cancel_requested_at: Date | null;
  error_code: string | null;
  error_message: string | null;
  base64_output: boolean;
  created_at: Date;
  started_at: Date | null;
  completed_at: Date | null;
  deadline_at: Date;
  media_expires_at: Date | null;
  media_deleted_at: Date | null;
  width: number | null;
  height: number | null;
  steps: number | null;
  seconds: number | null;
}

function toView(row: TaskRow): TaskView {
  return {
    id: row.id,
    accountId: row.account_id,
    apiKeyHash: row.api_key_hash,
    endpoint: row.endpoint,
    model: row.model,
    kind: row.kind,
    pool: row.pool,
    state: row.state,
    seed: BigInt(row.seed),
    charge: nanoUsd(row.charge),
    generationRuns: row.generation_runs,
    failures: row.failures,
    progress: row.progress,
    enginePosition: row.engine_position,
    cancelRequestedAt: row.cancel_requested_at,
    errorCode: row.error_code,
    errorMessage: row.error_message,
    base64Output: row.base64_output,
    createdAt: row.created_at,
    startedAt: row.started_at,
    completedAt: row.completed_at,
    deadlineAt: row.deadline_at,
    mediaExpiresAt: row.media_expires_at,
    mediaDeletedAt: row.media_deleted_at,
    ordered: { width: row.width, height: row.height, steps: row.steps, seconds: row.seconds },
  };
}

interface OutputRow {
  task_id: string;
  index: number;
  variant: TaskOutput['variant'];
  storage_key: string;
  media_type: string;
  bytes: string;
  width: number;
  height: number;
  duration_ms: number | null;
  sha256: string;
}

function toOutput(row: OutputRow): TaskOutput {
  return {
    index: row.index,
    variant: row.variant,
    storageKey: row.storage_key,
    mediaType: row.media_type,
    bytes: Number(row.bytes),
    width: row.width,
    height: row.height,
    durationMs: row.duration_ms,
    sha256: row.sha256,
  };
}

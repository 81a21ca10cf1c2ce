import { type NanoUsd, nanoUsd } from '../lib/money.ts';
import { byCell, type Cells } from '../store/cells.ts';
import type { Database } from '../store/database.ts';
import { jsonParameter, run } from '../store/statement.ts';
import {
  claimTasks,
  findLease,
  markGenerated,
  markSubmitting,
  renewLeases,
  returnTask,
  storeReferences,
} from './task-claims.sql.ts';
import { WORKER_SILENT_MS } from './task-dispatch.store.ts';
import { byFence, type Fenced, type FenceRow, fenceKey, fencesOf } from './task-fences.ts';
import { TASK_CHANNEL } from './task-signals.store.ts';
import { type LeasedState, stateAfterLapse } from './task-state.ts';
import type { GeneratedRun, ReturnedTask, TaskKind } from './tasks.types.ts';
import { WriteBatch } from './write-batch.ts';

/** A claimed task as an engine's run needs it, with the fence that every later write must name. */
export interface ClaimedRun {
  readonly id: string;
  /** The account, or a stand-in on a host that must not know it. */
  readonly accountId: string;
  readonly kind: TaskKind;
  readonly pool: string;
  /** The fence. */
  readonly attempt: number;
  readonly failures: number;
  /** Runs that were cut short because an engine or host went away. */
  readonly interruptions: number;
  /** Runs that an engine accepted and that are known to be over. */
  readonly endedRuns: number;
  /** Why the task was last given back. */
  readonly lastFailure: string | null;
  readonly parameters: unknown;
  readonly seed: bigint;
  readonly engineSubmittedAt: Date | null;
  readonly engineReference: string | null;
  /** Ms from the claim to the task's deadline. */
  readonly deadlineMs: number;
}

/** A task that a worker has claimed. */
export interface ClaimedTask extends ClaimedRun {
  readonly apiKeyId: string;
  readonly endpoint: string;
  readonly model: string;
  readonly charge: NanoUsd;
  /** Present from state `generated` on. */
  readonly generated: GeneratedRun | null;
  readonly createdAt: Date;
  readonly startedAt: Date;
}

export interface LeaseRenewal {
  readonly id: string;
  readonly attempt: number;
  /** From 0 to 1. */
  readonly progress: number;
  /** Position in the engine's own queue, from 1; null when it does not wait there. */
  readonly queuePosition?: number | null;
}

/** Minimum ms between two statements of a kind. A task waits for this at most once per step, and only if several came in that time. */
const PACE_MS = 20;

interface ClaimOrder {
  readonly taskId: string;
  readonly worker: string;
  readonly leaseMs: number;
  /** The pool that the caller serves; null for any. */
  readonly pool: string | null;
}

/**
 * Claims, and all writes made under one. They are guarded: a claim that is over changes no row. The steps of every task are written
 * for many tasks at once.
 */
export class TaskClaimsStore {
  readonly #cells: Cells;
  readonly #onClaimed: (task: ClaimedTask) => void;
  readonly #claims: Readonly<Record<LeasedState, WriteBatch<ClaimOrder, ClaimedTask | undefined>>>;
  readonly #references: WriteBatch<Fenced<{ engineId: string; reference: string }>, boolean>;
  readonly #generated: WriteBatch<
    Fenced<{ run: GeneratedRun; progress: number }>,
    { cancelRequested: boolean } | undefined
  >;

  /** `onClaimed` is called for every claimed task. */
  constructor(cells: Cells, onClaimed: (task: ClaimedTask) => void = () => undefined) {
    this.#cells = cells;
    this.#onClaimed = onClaimed;
    const claims = (to: LeasedState) =>
      new WriteBatch((orders: readonly ClaimOrder[]) => this.#claimAll(to, orders), PACE_MS);
    this.#claims = { generating: claims('generating'), processing: claims('processing') };
    this.#references = new WriteBatch((items) => this.#storeReferences(items), PACE_MS);
    this.#generated = new WriteBatch((items) => this.#markAllGenerated(items), PACE_MS);
  }

  /** Claims a waiting task. Undefined when it is claimed, ended, canceled, overdue, not due yet, or in another pool than `pool`. */
  async claim(
    taskId: string,
    to: LeasedState,
    worker: string,
    leaseMs: number,
    pool: string | null = null,
  ): Promise<ClaimedTask | undefined> {
    return await this.#claims[to].run({ taskId, worker, leaseMs, pool });
  }

  /** Renews leases, in one statement per cell. Check those missing from the answer with {@link findLease}. */
  async renew(
    leases: readonly LeaseRenewal[],
    leaseMs: number,
  ): Promise<{ id: string; attempt: number; cancelRequested: boolean }[]> {
    const rows = await this.#perCell(leases, ({ money }, part) =>
      run<FenceRow & { cancel_requested: boolean }>(money, renewLeases, [
        ...fencesOf(part),
        part.map((lease) => lease.progress),
        leaseMs,
        part.map((lease) => lease.queuePosition ?? null),
      ]),
    );
    return rows.map((row) => ({ id: row.id, attempt: row.attempt, cancelRequested: row.cancel_requested }));
  }

  /** Returns undefined when the claim is over. */
  async findLease(taskId: string, attempt: number): Promise<{ cancelRequested: boolean } | undefined> {
    const [row] = await run<{ cancel_requested: boolean }>(this.#cells.ofOwned(taskId).money, findLease, [
      taskId,
      attempt,
    ]);
    return row && { cancelRequested: row.cancel_requested };
  }

  /** Returns false when the claim is over. */
  async markSubmitting(taskId: string, attempt: number, engineId: string): Promise<boolean> {
    return (
      (await run(this.#cells.ofOwned(taskId).money, markSubmitting, [taskId, attempt, engineId])).length === 1
    );
  }

  /** Returns false when the claim is over. */
  async storeReference(
    taskId: string,
    attempt: number,
    engineId: string,
    reference: string,
  ): Promise<boolean> {
    return await this.#references.run({ id: taskId, attempt, value: { engineId, reference } });
  }

  /** Hands the task on to post-processing and wakes the relays. Returns undefined when the claim is over. */
  async markGenerated(
    taskId: string,
    attempt: number,
    generated: GeneratedRun,
    progress: number,
  ): Promise<{ cancelRequested: boolean } | undefined> {
    return await this.#generated.run({ id: taskId, attempt, value: { run: generated, progress } });
  }

  /** Puts the task back one step, or to the beginning without its files. Returns false when the claim is over. */
  async giveBack(task: ReturnedTask): Promise<boolean> {
    const { id, attempt, failures, waitMs, forgetRun, reason, billed } = task;
    const { interruptions = 0, uncounted = false, avoidMs = null, said = null, dropFiles = false } = task;
    const values = [
      id,
      attempt,
      failures,
      Math.round(waitMs),
      forgetRun,
      reason,
      interruptions,
      uncounted,
      avoidMs,
      said,
      billed ? jsonParameter(billed) : null,
      dropFiles,
    ];
    return (await run(this.#cells.ofOwned(id).money, returnTask, values)).length === 1;
  }

  async #claimAll(to: LeasedState, orders: readonly ClaimOrder[]): Promise<(ClaimedTask | undefined)[]> {
    // Two jobs for one task in one batch: the first gets it.
    const byTask = new Map(orders.toReversed().map((order) => [order.taskId, order]));
    const distinct = [...byTask.values()];
    const named = distinct.map((order) => ({ ...order, id: order.taskId }));
    const rows = await this.#perCell(named, ({ money }, part) =>
      run<ClaimRow>(money, claimTasks, [
        part.map((order) => order.taskId),
        part.map((order) => order.worker),
        part.map((order) => Math.round(order.leaseMs)),
        stateAfterLapse(to),
        to,
        WORKER_SILENT_MS,
        part.map((order) => order.pool),
      ]),
    );
    const claimed = new Map(rows.map((row) => [row.id, toClaimed(row)]));
    claimed.forEach(this.#onClaimed);
    return orders.map((order) =>
      byTask.get(order.taskId) === order ? claimed.get(order.taskId) : undefined,
    );
  }

  async #storeReferences(
    items: readonly Fenced<{ engineId: string; reference: string }>[],
  ): Promise<boolean[]> {
    const rows = await this.#perCell(items, ({ money }, part) =>
      run<FenceRow>(money, storeReferences, [
        ...fencesOf(part),
        part.map((item) => item.value.engineId),
        part.map((item) => item.value.reference),
      ]),
    );
    const stored = byFence(rows);
    return items.map((item) => stored.has(fenceKey(item)));
  }

  async #markAllGenerated(
    items: readonly Fenced<{ run: GeneratedRun; progress: number }>[],
  ): Promise<({ cancelRequested: boolean } | undefined)[]> {
    const rows = await this.#perCell(items, ({ money }, part) =>
      run<FenceRow & { cancel_requested: boolean }>(money, markGenerated, [
        ...fencesOf(part),
        part.map((item) => jsonParameter(item.value.run)),
        part[0]?.value.progress,
        TASK_CHANNEL,
      ]),
    );
    const marked = byFence(rows);
    return items.map((item) => {
      const row = marked.get(fenceKey(item));
      return row && { cancelRequested: row.cancel_requested };
    });
  }

  /** Splits a batch of tasks by cell and joins the results. */
  async #perCell<Item extends { readonly id: string }, Row>(
    items: readonly Item[],
    send: (cell: Database, part: readonly Item[]) => Promise<Row[]>,
  ): Promise<Row[]> {
    const shares = byCell(items, (item) => this.#cells.ofOwned(item.id));
    return (await Promise.all(shares.map(({ cell, items: part }) => send(cell, part)))).flat();
  }
}

interface ClaimRow {
  id: string;
  account_id: string;
  api_key_id: string;
  endpoint: string;
  model: string;
  kind: TaskKind;
  pool: string;
  attempt: number;
  failures: number;
  interruptions: number;
  ended_runs: number;
  last_failure: string | null;
  parameters: unknown;
  seed: string;
  charge: string;
  engine_submitted_at: Date | null;
  engine_reference: string | null;
  raw_outputs: GeneratedRun | null;
  created_at: Date;
  started_at: Date;
  deadline_ms: number;
}

function toClaimed(row: ClaimRow): ClaimedTask {
  return {
    id: row.id,
    accountId: row.account_id,
    apiKeyId: row.api_key_id,
    endpoint: row.endpoint,
    model: row.model,
    kind: row.kind,
    pool: row.pool,
    attempt: row.attempt,
    failures: row.failures,
    interruptions: row.interruptions,
    endedRuns: row.ended_runs,
    lastFailure: row.last_failure,
    parameters: row.parameters,
    seed: BigInt(row.seed),
    charge: nanoUsd(row.charge),
    engineSubmittedAt: row.engine_submitted_at,
    engineReference: row.engine_reference,
    generated: row.raw_outputs,
    createdAt: row.created_at,
    startedAt: row.started_at,
    deadlineMs: row.deadline_ms,
  };
}

import type pg from 'pg';
import { type NanoUsd, nanoUsd } from '../lib/money.ts';
import {
  claimTask,
  findLease,
  markGenerated,
  markSubmitting,
  notifyChannel,
  renewLeases,
  returnTask,
  storeReference,
} from '../store/sql/tasks/claims.ts';
import { run } from '../store/statement.ts';
import type { LeasedState, TaskState } from './task-state.ts';
import { stateAfterLapse } from './task-state.ts';
import type { GeneratedRun, TaskKind } from './tasks.types.ts';

/** A task in a worker's hands, with the fence that every later write must name. */
export interface ClaimedTask {
  readonly id: string;
  readonly accountId: string;
  readonly apiKeyId: string;
  readonly endpoint: string;
  readonly model: string;
  readonly kind: TaskKind;
  readonly pool: string;
  /** The fence. */
  readonly attempt: number;
  readonly failures: number;
  readonly parameters: unknown;
  readonly seed: bigint;
  readonly charge: NanoUsd;
  readonly engineSubmittedAt: Date | null;
  readonly engineReference: string | null;
  /** Present from `generated` on. */
  readonly generated: GeneratedRun | null;
  readonly createdAt: Date;
  readonly startedAt: Date;
  readonly deadlineAt: Date;
}

export interface LeaseRenewal {
  readonly id: string;
  readonly attempt: number;
  /** 0–1 */
  readonly progress: number;
}

export interface ReturnedTask {
  readonly id: string;
  readonly attempt: number;
  /** 1 when this run counts towards the most failures a task may have, else 0. */
  readonly failures: 0 | 1;
  /** Ms before anybody may take it again. */
  readonly waitMs: number;
  /** The engine's run is known to be over or never to have begun: the next attempt submits afresh. */
  readonly forgetRun: boolean;
  /** For the task's event log; no prompt, no upstream text. */
  readonly reason: string;
}

const DISPATCH_CHANNEL = 'tollgate_tasks';

/** Claims and everything written under one. Each method is one guarded statement; a claim that is over changes no row. */
export class TaskClaimsStore {
  readonly #pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  /** Claims a waiting task; undefined when it is claimed, ended, canceled, overdue or not due yet. */
  async claim(
    taskId: string,
    to: LeasedState,
    worker: string,
    leaseMs: number,
  ): Promise<ClaimedTask | undefined> {
    const from: TaskState = stateAfterLapse(to);
    const [row] = await run<ClaimRow>(this.#pool, claimTask, [taskId, from, to, worker, leaseMs]);
    return row && toClaimed(row);
  }

  /** Renews leases in one statement. Missing from the answer: those to look at with {@link findLease}. */
  async renew(
    leases: readonly LeaseRenewal[],
    leaseMs: number,
  ): Promise<{ id: string; attempt: number; cancelRequested: boolean }[]> {
    const rows = await run<{ id: string; attempt: number; cancel_requested: boolean }>(
      this.#pool,
      renewLeases,
      [
        leases.map((lease) => lease.id),
        leases.map((lease) => lease.attempt),
        leases.map((lease) => lease.progress),
        leaseMs,
      ],
    );
    return rows.map((row) => ({ id: row.id, attempt: row.attempt, cancelRequested: row.cancel_requested }));
  }

  /** Undefined when the claim is over. */
  async findLease(taskId: string, attempt: number): Promise<{ cancelRequested: boolean } | undefined> {
    const [row] = await run<{ cancel_requested: boolean }>(this.#pool, findLease, [taskId, attempt]);
    return row && { cancelRequested: row.cancel_requested };
  }

  /** False when the claim is over. */
  async markSubmitting(taskId: string, attempt: number, engineId: string): Promise<boolean> {
    return (await run(this.#pool, markSubmitting, [taskId, attempt, engineId])).length === 1;
  }

  /** False when the claim is over. */
  async storeReference(
    taskId: string,
    attempt: number,
    engineId: string,
    reference: string,
  ): Promise<boolean> {
    return (await run(this.#pool, storeReference, [taskId, attempt, engineId, reference])).length === 1;
  }

  /** Hands the task on to post-processing; undefined when the claim is over. */
  async markGenerated(
    taskId: string,
    attempt: number,
    generated: GeneratedRun,
    progress: number,
  ): Promise<{ cancelRequested: boolean } | undefined> {
    const [row] = await run<{ cancel_requested: boolean }>(this.#pool, markGenerated, [
      taskId,
      attempt,
      JSON.stringify(generated),
      progress,
    ]);
    return row && { cancelRequested: row.cancel_requested };
  }

  /** Gives the task back one step; false when the claim is over. */
  async giveBack(task: ReturnedTask): Promise<boolean> {
    const { id, attempt, failures, waitMs, forgetRun, reason } = task;
    const values = [id, attempt, failures, Math.round(waitMs), forgetRun, reason];
    return (await run(this.#pool, returnTask, values)).length === 1;
  }

  /** Tells the relays that a task waits. */
  async notifyWaiting(): Promise<void> {
    await run(this.#pool, notifyChannel, [DISPATCH_CHANNEL, '']);
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
  parameters: unknown;
  seed: string;
  charge: string;
  engine_submitted_at: Date | null;
  engine_reference: string | null;
  raw_outputs: GeneratedRun | null;
  created_at: Date;
  started_at: Date;
  deadline_at: Date;
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
    parameters: row.parameters,
    seed: BigInt(row.seed),
    charge: nanoUsd(row.charge),
    engineSubmittedAt: row.engine_submitted_at,
    engineReference: row.engine_reference,
    generated: row.raw_outputs,
    createdAt: row.created_at,
    startedAt: row.started_at,
    deadlineAt: row.deadline_at,
  };
}

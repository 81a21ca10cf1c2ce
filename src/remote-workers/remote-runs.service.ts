import { createHash } from 'node:crypto';
import type { RunPolicy } from '../catalog/run-policy.ts';
import type { EngineRequest } from '../engines/engine.types.ts';
import type { WorkerIdentity } from '../http/callers/worker-authenticator.types.ts';
import { AppError } from '../lib/errors.ts';
import { parsePublicId } from '../lib/ids.ts';
import type { StopSignal } from '../lib/stop-signal.ts';
import type { Storage } from '../media/storage.types.ts';
import { GENERATE_SHARE } from '../tasks/generate.service.ts';
import { deleteRaw, rawKey } from '../tasks/raw-outputs.ts';
import type { ClaimedTask, TaskClaimsStore } from '../tasks/task-claims.store.ts';
import type { TaskDispatchStore } from '../tasks/task-dispatch.store.ts';
import type { EngineRun, TaskEndings } from '../tasks/task-endings.ts';
import type { GeneratedRun } from '../tasks/tasks.types.ts';
import type { WorkerReport, WorkersStore } from '../tasks/workers.store.ts';
import type { ClaimDispatcher } from './claim-dispatcher.ts';
import type { HeldRun, HeldRunsStore, Holder } from './held-runs.store.ts';
import type { OutputUploads, UploadPart, UploadState } from './output-uploads.ts';
import { REMOTE_LEASES } from './remote-leases.ts';
import type { StepBody } from './worker-api.schema.ts';
import type { TokenWorkerAuthenticator } from './worker-authenticator.ts';

export interface RemoteRunsParts {
  readonly door: Pick<TokenWorkerAuthenticator, 'isStillOpen'>;
  readonly desk: Pick<ClaimDispatcher, 'claim' | 'putBack'>;
  readonly held: Pick<HeldRunsStore, 'find' | 'held'>;
  readonly claims: Pick<
    TaskClaimsStore,
    'renew' | 'findLease' | 'markSubmitting' | 'storeReference' | 'markGenerated' | 'giveBack'
  >;
  readonly endings: Pick<TaskEndings, 'fail' | 'cancel'>;
  readonly dispatch: Pick<TaskDispatchStore, 'registerSlots' | 'forgetWorker'>;
  readonly workers: Pick<WorkersStore, 'report' | 'remove'>;
  readonly storage: Pick<Storage, 'stat' | 'delete'>;
  readonly uploads: Pick<OutputUploads, 'state' | 'put'>;
  readonly policyOf: (task: ClaimedTask) => RunPolicy;
  readonly extraOf: (task: ClaimedTask) => EngineRequest['extra'];
}

/** A task as handed out to a worker. */
export interface HandedOut {
  readonly task: ClaimedTask;
  readonly policy: RunPolicy;
  /** Members that the route adds to the request. */
  readonly extra: EngineRequest['extra'];
  /** A pseudonym of the customer. */
  readonly customer: string;
}

/** Identifies the attempt that a worker reports about. */
export interface AttemptName {
  readonly worker: string;
  readonly task_id: string;
  readonly attempt: number;
}

/** Number of hex digits of the hash that identifies a customer to a worker. */
const CUSTOMER_DIGITS = 16;

/**
 * What workers on untrusted hosts may do: run tasks of their token's pools. They cannot charge or finish a task: their uploads are checked
 * and finished inside the network, and their reports are written only under the claim they hold.
 */
export class RemoteRunsService {
  readonly #parts: RemoteRunsParts;

  constructor(parts: RemoteRunsParts) {
    this.#parts = parts;
  }

  /**
   * Waits for a task. Throws AppError insufficient_scope for a pool outside the token, invalid_api_key when the token was revoked in the
   * meantime, concurrency_limit_exceeded.
   */
  async claim(
    identity: WorkerIdentity,
    {
      worker,
      pool,
      loaded,
      waitMs,
    }: { worker: string; pool: string; loaded: readonly string[]; waitMs: number },
    signal: StopSignal,
  ): Promise<HandedOut | undefined> {
    const { desk, door, policyOf, extraOf } = this.#parts;
    requirePools(identity, [pool]);
    const order = { pool, loaded, worker: fullName(identity, worker), tokenId: identity.tokenId };
    const task = await desk.claim(order, waitMs, signal);
    if (task && !(await door.isStillOpen(identity))) {
      await desk.putBack(task);
      throw new AppError('invalid_api_key', 'the worker token was revoked');
    }
    return (
      task && { task, policy: policyOf(task), extra: extraOf(task), customer: customerOf(identity, task) }
    );
  }

  /** Renews leases. Returns those that the worker still holds. */
  async renew(
    identity: WorkerIdentity,
    worker: string,
    leases: readonly {
      task_id: string;
      attempt: number;
      progress: number;
      queue_position?: number | null | undefined;
    }[],
  ): Promise<{ id: string; attempt: number; cancelRequested: boolean }[]> {
    const { held, claims } = this.#parts;
    const named = leases.flatMap(({ task_id, attempt, progress, queue_position: queuePosition = null }) => {
      const id = parsePublicId('generation', task_id);
      return id === undefined
        ? []
        : [{ id, attempt, progress: Math.min(progress, GENERATE_SHARE), queuePosition }];
    });
    const own = await held.held(named, holderOf(identity, worker));
    const renewed = own.length > 0 ? await claims.renew(own, REMOTE_LEASES.leaseMs) : [];
    const kept = await Promise.all(
      own.map(async ({ id, attempt }) => {
        const found =
          renewed.find((row) => row.id === id && row.attempt === attempt) ??
          (await claims.findLease(id, attempt));
        return found ? [{ id, attempt, cancelRequested: found.cancelRequested }] : [];
      }),
    );
    return kept.flat();
  }

  /** Stores a worker's report. Returns whether an operator has drained its host. Throws AppError insufficient_scope. */
  async report(
    identity: WorkerIdentity,
    report: Omit<WorkerReport, 'queues'> & {
      slots: Readonly<Record<string, number>>;
      leaving: boolean;
    },
  ): Promise<boolean> {
    const { dispatch, workers } = this.#parts;
    const { slots, leaving, resting, misconfigured, running, draining } = report;
    requirePools(identity, [...Object.keys(slots), ...resting, ...misconfigured]);
    const worker = fullName(identity, report.worker);
    if (leaving) {
      await Promise.all([dispatch.forgetWorker(worker), workers.remove(worker)]);
      return false;
    }
    const bySlots = new Map(Object.entries(slots).map(([pool, count]) => [`generate-${pool}`, count]));
    const queues = [...bySlots.keys()];
    const drained = await workers.report({ worker, queues, resting, misconfigured, running, draining });
    await dispatch.registerSlots(worker, new Map([...bySlots].filter(([, count]) => count > 0)));
    return drained;
  }

  /**
   * Writes a step. Returns false, and writes nothing, when the worker no longer holds the task. Throws AppError invalid_request for missing
   * files.
   */
  async step(identity: WorkerIdentity, body: StepBody): Promise<boolean> {
    const held = await this.#find(identity, body);
    if (!held) {
      return false;
    }
    const { claims, endings } = this.#parts;
    const { id, attempt, pool } = held;
    const fence = { attempt, from: ['generating'] as const };
    switch (body.step) {
      case 'submitting':
        return await claims.markSubmitting(id, attempt, pool);
      case 'submitted':
        return await claims.storeReference(id, attempt, pool, body.reference);
      case 'generated':
        return await this.#generated(held, body);
      case 'returned': {
        const { failures, interruptions, uncounted, reason, said } = body;
        const back = { id, attempt, failures, interruptions, uncounted, reason, said };
        const avoid = body.avoid_ms === null ? {} : { avoidMs: body.avoid_ms };
        return await claims.giveBack({ ...back, ...avoid, waitMs: body.wait_ms, forgetRun: body.forget_run });
      }
      case 'failed': {
        const run = body.run && runOf(held, body.run);
        return (await endings.fail(held, fence, body, run)) !== 'fenced';
      }
      case 'canceled':
        return (await endings.cancel(held, fence)) !== 'fenced';
    }
  }

  /** Returns how much of a file has been uploaded; undefined when the worker no longer holds the task. */
  async uploaded(
    identity: WorkerIdentity,
    output: AttemptName & { index: number },
  ): Promise<UploadState | undefined> {
    const held = await this.#find(identity, output);
    return held && (await this.#parts.uploads.state({ ...held, index: output.index }));
  }

  /** Stores a part of a file. Returns undefined when the worker no longer holds the task. Throws what {@link OutputUploads.put} throws. */
  async upload(
    identity: WorkerIdentity,
    output: AttemptName & { index: number },
    part: UploadPart,
  ): Promise<UploadState | undefined> {
    const held = await this.#find(identity, output);
    return held && (await this.#parts.uploads.put({ ...held, index: output.index }, part));
  }

  async #generated(held: HeldRun, body: StepBody & { step: 'generated' }): Promise<boolean> {
    const { claims, endings, storage } = this.#parts;
    const { id, attempt, kind, pool, upstreamModel } = held;
    const outputs = [...new Set(body.outputs)].map((index) => ({
      index,
      storageKey: rawKey(id, attempt, kind, index),
    }));
    const there = await Promise.all(outputs.map(({ storageKey }) => storage.stat(storageKey)));
    if (there.includes(undefined)) {
      throw new AppError('invalid_request', 'a file of the task was not uploaded');
    }
    const generated: GeneratedRun = {
      outputs,
      engineId: pool,
      model: upstreamModel,
      latencyMs: body.latency_ms,
      // An untrusted host has no say about money.
      cost: null,
      ...(body.algorithmic ? { source: 'algorithmicMedia' } : {}),
    };
    const marked = await claims.markGenerated(id, attempt, generated, GENERATE_SHARE);
    if (marked?.cancelRequested) {
      await endings.cancel(held, { attempt: null, from: ['generated'] });
    }
    if (!marked || marked.cancelRequested) {
      await deleteRaw(storage, held, outputs);
    }
    return marked !== undefined;
  }

  async #find(
    identity: WorkerIdentity,
    { worker, task_id, attempt }: AttemptName,
  ): Promise<HeldRun | undefined> {
    const id = parsePublicId('generation', task_id);
    return id === undefined
      ? undefined
      : await this.#parts.held.find(id, attempt, holderOf(identity, worker));
  }
}

function holderOf(identity: WorkerIdentity, worker: string): Holder {
  return { worker: fullName(identity, worker), pools: identity.pools };
}

/** Returns a name that no other worker has: names of workers inside the network and of tokens contain no colon. */
function fullName({ name }: WorkerIdentity, worker: string): string {
  return `${name}:${worker}`;
}

function requirePools({ pools }: WorkerIdentity, asked: readonly string[]): void {
  const foreign = asked.find((pool) => !pools.includes(pool));
  if (foreign !== undefined) {
    throw new AppError('insufficient_scope', `the worker token does not cover the pool ${foreign}`);
  }
}

function customerOf({ tokenId }: WorkerIdentity, { accountId }: ClaimedTask): string {
  return createHash('sha256').update(`${tokenId}/${accountId}`).digest('hex').slice(0, CUSTOMER_DIGITS);
}

function runOf(
  { pool, upstreamModel }: HeldRun,
  run: { outcome: string; latency_ms: number; said?: string | undefined },
): EngineRun {
  const { outcome, latency_ms: latencyMs, said } = run;
  return { engineId: pool, model: upstreamModel, outcome, latencyMs, said, cost: null };
}

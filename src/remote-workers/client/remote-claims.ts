import type { EngineRequest } from '../../engines/engine.types.ts';
import { parsePublicId } from '../../lib/ids.ts';
import type { AttemptPolicy, RunClaims, RunEndings } from '../../tasks/generate.types.ts';
import type { LoadedModels } from '../../tasks/loaded-models.ts';
import type { ClaimedRun, LeaseRenewal, TaskClaimsStore } from '../../tasks/task-claims.store.ts';
import type { EndingFence, EngineRun } from '../../tasks/task-endings.ts';
import type { GeneratedRun, ReturnedTask } from '../../tasks/tasks.types.ts';
import type { ClaimedTaskJson } from '../worker-api.schema.ts';
import type { WorkerApiClient } from './worker-api-client.ts';
import { WorkerApiError } from './worker-api-error.ts';

/** A task that this host runs, without its owner and its price. */
export interface RemoteRun extends ClaimedRun {
  readonly policy: AttemptPolicy;
  readonly extra: EngineRequest['extra'];
}

const MS_MAX = 7 * 24 * 3_600_000;

/** The claims of this process, kept by the API. It replaces the database that other workers use. */
export class RemoteClaims
  implements RunClaims, RunEndings<RemoteRun>, Pick<TaskClaimsStore, 'renew' | 'findLease'>
{
  readonly #api: WorkerApiClient;
  readonly #loaded: LoadedModels;

  constructor(api: WorkerApiClient, loaded: LoadedModels) {
    this.#api = api;
    this.#loaded = loaded;
  }

  /** Waits up to `waitSeconds` for a task of the pool. Throws WorkerApiError, or the signal's reason. */
  async next(pool: string, waitSeconds: number, signal: AbortSignal): Promise<RemoteRun | undefined> {
    const task = await this.#api.claim({ pool, waitSeconds, loaded: this.#loaded.of(pool) ?? [] }, signal);
    const run = task ? toRun(task) : undefined;
    if (run) {
      this.#loaded.began(run);
    }
    return run;
  }

  async renew(
    leases: readonly LeaseRenewal[],
  ): Promise<{ id: string; attempt: number; cancelRequested: boolean }[]> {
    const held = await this.#api.renew(leases);
    return held.map(({ task_id, attempt, canceled }) => ({
      id: uuidOf(task_id),
      attempt,
      cancelRequested: canceled,
    }));
  }

  /** Finds nothing: the API has already checked twice before it omits a lease. */
  async findLease(): Promise<undefined> {
    return undefined;
  }

  async markSubmitting(taskId: string, attempt: number): Promise<boolean> {
    return await this.#api.step<'submitting'>(taskId, attempt, { step: 'submitting' });
  }

  async storeReference(
    taskId: string,
    attempt: number,
    _engine: string,
    reference: string,
  ): Promise<boolean> {
    return await this.#api.step<'submitted'>(taskId, attempt, { step: 'submitted', reference });
  }

  /** Marks a task as generated. The API itself ends a task that was canceled in the meantime. */
  async markGenerated(
    taskId: string,
    attempt: number,
    { outputs, latencyMs, source }: GeneratedRun,
  ): Promise<{ cancelRequested: boolean } | undefined> {
    const held = await this.#api.step<'generated'>(taskId, attempt, {
      step: 'generated',
      outputs: outputs.map(({ index }) => index),
      latency_ms: wholeMs(latencyMs),
      algorithmic: source === 'algorithmicMedia',
    });
    return held ? { cancelRequested: false } : undefined;
  }

  async giveBack(task: ReturnedTask): Promise<boolean> {
    const { id, attempt, failures, interruptions, uncounted, avoidMs, waitMs, forgetRun, reason, said } =
      task;
    return await this.#api.step<'returned'>(id, attempt, {
      step: 'returned',
      reason,
      failures,
      wait_ms: wholeMs(waitMs),
      forget_run: forgetRun,
      ...(interruptions === undefined ? {} : { interruptions }),
      ...(uncounted === undefined ? {} : { uncounted }),
      ...(avoidMs === undefined ? {} : { avoid_ms: wholeMs(avoidMs) }),
      ...(said === undefined ? {} : { said: storable(said, 4_096) }),
    });
  }

  async fail(
    { id, attempt }: RemoteRun,
    _fence: EndingFence,
    { code, message }: { code: string; message: string },
    run: EngineRun | null = null,
  ): Promise<void> {
    const { outcome = '', latencyMs = 0, said } = run ?? {};
    const told = {
      outcome,
      latency_ms: wholeMs(latencyMs),
      ...(said === undefined ? {} : { said: storable(said, 4_096) }),
    };
    const step = { step: 'failed', code, message: storable(message, 2_000), run: run && told } as const;
    await this.#api.step<'failed'>(id, attempt, step);
  }

  async cancel({ id, attempt }: RemoteRun): Promise<void> {
    await this.#api.step<'canceled'>(id, attempt, { step: 'canceled' });
  }
}

function toRun(task: ClaimedTaskJson): RemoteRun {
  const { policy } = task;
  return {
    id: uuidOf(task.task_id),
    accountId: task.customer,
    kind: task.kind,
    pool: task.pool,
    attempt: task.attempt,
    failures: task.failures,
    interruptions: task.interruptions,
    endedRuns: task.ended_runs,
    lastFailure: task.last_failure,
    parameters: task.order,
    extra: task.extra,
    seed: BigInt(task.seed),
    engineSubmittedAt: task.submitted_at === null ? null : new Date(task.submitted_at),
    engineReference: task.reference,
    deadlineMs: task.deadline_ms,
    policy: {
      attempts: policy.attempts,
      backoffMs: policy.backoff_ms,
      backoffMaxMs: policy.backoff_max_ms,
      timeoutMs: policy.timeout_ms,
    },
  };
}

function uuidOf(taskId: string): string {
  const id = parsePublicId('generation', taskId);
  if (id === undefined) {
    throw new WorkerApiError(200, `${taskId} is not a task id`);
  }
  return id;
}

function wholeMs(milliseconds: number): number {
  return Math.min(Math.max(0, Math.round(milliseconds)), MS_MAX);
}

/** Removes characters that databases reject from an engine's message. */
function storable(text: string, charactersMax: number): string {
  return text.slice(0, charactersMax).replaceAll(/[\0\p{Surrogate}]/gu, '');
}

import type { RunPolicy } from '../catalog/run-policy.ts';
import type { EnginePools, EngineRequest } from '../engines/engine.types.ts';
import type { Logger } from '../lib/logger.ts';
import type { Storage } from '../media/storage.types.ts';
import type { EngineRests } from './engine-rests.ts';
import type { GpuMemoryGate } from './gpu-memory-gate.ts';
import type { InPlaceRuns } from './in-place.service.ts';
import type { LeaseKeeper } from './lease-keeper.ts';
import type { StorageRetry } from './outage-retry.ts';
import type { ClaimedRun, ClaimedTask, TaskClaimsStore } from './task-claims.store.ts';
import type { EndingFence, EngineRun } from './task-endings.ts';

/** How a task's runs are retried; its deadline came with its claim. */
export type AttemptPolicy = Omit<RunPolicy, 'deadlineMs'>;

export interface GenerateSettings {
  /** Folder for the files that engines write; each attempt has its own folder in it. */
  readonly workFolder: string;
  /** Ms for which a claimed run waits for GPU memory before it is left to other hosts; 10 s by default. */
  readonly roomWaitMs?: number | undefined;
}

/** The outcome of a job. Whatever went wrong with the task has been dealt with in its row. */
export interface AttemptOutcome {
  /**
   * `skipped`: nothing to do (done, canceled, claimed elsewhere); `returned`: waits for another attempt; `ended`: canceled by the
   * customer.
   */
  readonly result: 'advanced' | 'skipped' | 'ended' | 'failed' | 'returned' | 'claim_lost';
  /** Why the task failed: the code that the customer sees. */
  readonly code?: string;
  /** Ms for which the whole pool should pause. */
  readonly pausePoolMs?: number;
}

/** Writes made under a claim while its task runs: to the database, or through the API in front of it. */
export type RunClaims = Pick<
  TaskClaimsStore,
  'markSubmitting' | 'storeReference' | 'markGenerated' | 'giveBack'
>;

/** Ends tasks without a charge. Tasks that are charged are ended by post-processing. */
export interface RunEndings<Task extends ClaimedRun> {
  fail(
    task: Task,
    fence: EndingFence,
    error: { code: string; message: string },
    run?: EngineRun | null,
  ): Promise<unknown>;
  cancel(task: Task, fence: EndingFence, run?: EngineRun | null): Promise<unknown>;
}

export interface GenerateDependencies<Task extends ClaimedRun = ClaimedTask> {
  readonly claims: RunClaims;
  readonly leases: Pick<LeaseKeeper, 'hold'>;
  readonly endings: RunEndings<Task>;
  readonly engines: EnginePools;
  readonly rests: EngineRests;
  /** Absent when no GPU is shared. */
  readonly rooms?: Pick<GpuMemoryGate, 'isShared' | 'take'>;
  /** Returns how the runs of a task are retried. */
  readonly policyOf: (task: Task) => AttemptPolicy;
  /** Returns what the route of a task adds to its order. */
  readonly extraOf?: ((task: Task) => EngineRequest['extra']) | undefined;
  readonly storage: Pick<Storage, 'putFile' | 'delete'>;
  readonly patience: StorageRetry;
  /** Absent when this process leaves post-processing to others. */
  readonly inPlace?: InPlaceRuns<Task> | undefined;
  /** Called after every run with `ok` or the reason it failed, and its duration in ms. */
  readonly onRun?: ((pool: string, outcome: string, durationMs: number) => void) | undefined;
  readonly log: Logger;
}

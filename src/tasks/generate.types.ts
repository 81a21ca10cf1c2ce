import type { RunPolicy } from '../catalog/run-policy.ts';
import type { EnginePools, EngineRequest } from '../engines/engine.types.ts';
import type { Logger } from '../lib/logger.ts';
import type { Storage } from '../media/storage.types.ts';
import type { EngineRests } from './engine-rests.ts';
import type { InPlaceService } from './in-place.service.ts';
import type { LeaseKeeper } from './lease-keeper.ts';
import type { StoragePatience } from './storage-patience.ts';
import type { ClaimedTask, TaskClaimsStore } from './task-claims.store.ts';
import type { TaskEndings } from './task-endings.ts';

export interface GenerateSettings {
  /** Name of this worker process, for the operator. */
  readonly worker: string;
  /** Folder for what engines write; each attempt has its own below it. */
  readonly workFolder: string;
}

/** What became of a job: everything that went wrong with the task is dealt with in its row. */
export interface AttemptOutcome {
  /** `skipped`: nothing to do (done, canceled, claimed elsewhere); `returned`: waits for another attempt; `ended`: by its customer. */
  readonly result: 'advanced' | 'skipped' | 'ended' | 'failed' | 'returned' | 'claim_lost';
  /** Why the task failed: the code its customer reads. */
  readonly code?: string;
  /** Ms for which the whole pool should pause. */
  readonly pausePoolMs?: number;
}

export interface GenerateDependencies {
  readonly claims: TaskClaimsStore;
  readonly leases: LeaseKeeper;
  readonly endings: TaskEndings;
  readonly engines: EnginePools;
  readonly rests: EngineRests;
  /** How the runs of a task are tried. */
  readonly policyOf: (task: ClaimedTask) => RunPolicy;
  /** What the route of a task adds to its order. */
  readonly extraOf?: ((task: ClaimedTask) => EngineRequest['extra']) | undefined;
  readonly storage: Storage;
  readonly patience: StoragePatience;
  /** Absent where this process leaves post-processing to others. */
  readonly inPlace?: InPlaceService | undefined;
  /** Called after every run that failed. */
  readonly onRunFailure?: ((pool: string, code: string) => void) | undefined;
  readonly log: Logger;
}

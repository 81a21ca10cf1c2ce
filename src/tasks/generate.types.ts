import type { Engine } from '../engines/engine.types.ts';
import type { Logger } from '../lib/logger.ts';
import type { Storage } from '../media/storage.types.ts';
import type { InPlaceService } from './in-place.service.ts';
import type { LeaseKeeper } from './lease-keeper.ts';
import type { StoragePatience } from './storage-patience.ts';
import type { TaskClaimsStore } from './task-claims.store.ts';
import type { TaskEndings } from './task-endings.ts';
import type { TaskKind } from './tasks.types.ts';

export interface EnginePools {
  /** The engine that serves a pool on this host; undefined when none is configured. */
  find(pool: string): Engine | undefined;
}

export interface GenerateSettings {
  /** Name of this worker process, for the operator. */
  readonly worker: string;
  /** Folder for what engines write; each attempt has its own below it. */
  readonly workFolder: string;
  /** Ms one run on an engine may take. */
  readonly runTimeoutMs: Readonly<Record<TaskKind, number>>;
}

export interface GenerateDependencies {
  readonly claims: TaskClaimsStore;
  readonly leases: LeaseKeeper;
  readonly endings: TaskEndings;
  readonly engines: EnginePools;
  readonly storage: Storage;
  readonly patience: StoragePatience;
  /** Absent where this process leaves post-processing to others. */
  readonly inPlace?: InPlaceService | undefined;
  readonly log: Logger;
}

import type { CatalogService } from '../catalog/catalog.service.ts';
import type { NanoUsd } from '../lib/money.ts';
import type { DigitalSource } from '../media/provenance.ts';
import type { TaskState } from './task-state.ts';

export type TaskKind = 'image' | 'video';

/** The narrow view of the catalog that tasks have. */
export type TaskCatalog = Pick<CatalogService, 'orderable'>;

/** A task as its owner may read it. */
export interface TaskView {
  readonly id: string;
  readonly accountId: string;
  readonly apiKeyHash: string;
  readonly endpoint: string;
  readonly model: string;
  readonly kind: TaskKind;
  readonly pool: string;
  readonly state: TaskState;
  readonly seed: bigint;
  readonly charge: NanoUsd;
  /** How often its generation was begun; the post-processing does not count. */
  readonly generationRuns: number;
  readonly failures: number;
  /** 0–1 */
  readonly progress: number;
  readonly cancelRequestedAt: Date | null;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
  readonly base64Output: boolean;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly completedAt: Date | null;
  readonly deadlineAt: Date;
  readonly mediaExpiresAt: Date | null;
  readonly mediaDeletedAt: Date | null;
}

export interface RawOutput {
  readonly index: number;
  readonly storageKey: string;
}

/** What the engine did, as it waits in the row for post-processing. */
export interface GeneratedRun {
  readonly outputs: readonly RawOutput[];
  readonly engineId: string;
  readonly model: string;
  readonly latencyMs: number;
  /** What the engine's operator bills us, in nano-USD as decimal text, where it says so. */
  readonly cost: string | null;
  /** What the files will say made them; a trained model unless stated. */
  readonly source?: DigitalSource;
}

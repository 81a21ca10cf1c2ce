import type { ChargeLines } from '../ledger/ledger.types.ts';
import type { NanoUsd } from '../lib/money.ts';
import type { DigitalSource } from '../media/provenance.ts';
import type { TaskState } from './task-state.ts';

export type TaskKind = 'image' | 'video';

/** What submit needs to know of a model. */
export interface TaskModel {
  /** Public model id, e.g. `image-turbo`. */
  readonly id: string;
  readonly kind: TaskKind;
  /** The engine that runs it: the engine pool of the same name. */
  readonly pool: string;
  /** The engine's own name for the model. */
  readonly upstreamModel: string;
  readonly priceVersion: string;
  /** What one task costs, fixed at submit: request price, and image price per output image. */
  readonly charge: { readonly amount: NanoUsd; readonly lines: ChargeLines };
}

/** The narrow view of the catalog that tasks have. */
export interface TaskCatalog {
  /** The model of that public id that serves that kind of endpoint. */
  findTaskModel(id: string, kind: TaskKind): TaskModel | undefined;
}

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

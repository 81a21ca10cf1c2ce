import type { CatalogService } from '../catalog/catalog.service.ts';
import type { ProviderAttempt } from '../ledger/ledger.types.ts';
import type { NanoUsd } from '../lib/money.ts';
import type { DigitalSource } from '../media/provenance.ts';
import type { TaskState } from './task-state.ts';

export type TaskKind = 'image' | 'video';

/** The part of the catalog that tasks use. */
export type TaskCatalog = Pick<CatalogService, 'orderable'>;

/** A task as its owner may see it. */
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
  /** How often generating was started; post-processing does not count. */
  readonly generationRuns: number;
  readonly failures: number;
  /** From 0 to 1. */
  readonly progress: number;
  /** Position in the engine's own queue, from 1, while it waits there. */
  readonly enginePosition: number | null;
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
  readonly ordered: OrderedSize;
}

/** The order without its prompt: pixels, steps, seconds; null when unknown or left to the engine. */
export interface OrderedSize {
  readonly width: number | null;
  readonly height: number | null;
  readonly steps: number | null;
  readonly seconds: number | null;
}

/** Signed addresses of a task's first files. They need no request of their own, so a page of images costs only the images. */
export interface TaskLinks {
  readonly content: string | null;
  readonly thumbnail: string | null;
  readonly poster: string | null;
}

export interface RawOutput {
  readonly index: number;
  readonly storageKey: string;
}

/** The result of the engine's run, stored in the row for post-processing. */
export interface GeneratedRun {
  readonly outputs: readonly RawOutput[];
  readonly engineId: string;
  readonly model: string;
  readonly latencyMs: number;
  /** What the engine's operator bills us, in nano-USD as decimal text, if known. */
  readonly cost: string | null;
  /** The source that the files will declare; a trained model unless stated. */
  readonly source?: DigitalSource;
}

/** How a claimed task is put back, for this or another worker. */
export interface ReturnedTask {
  readonly id: string;
  readonly attempt: number;
  /** 1 when this run counts toward the task's maximum of failures, else 0. */
  readonly failures: 0 | 1;
  /** 1 when the engine went away and cut a run short. */
  readonly interruptions?: 0 | 1;
  /** No run began, so it is not among those that customers see. */
  readonly uncounted?: boolean;
  /** Ms for which the task is left to other hosts, if there are any. */
  readonly avoidMs?: number;
  /** Ms before any worker may take the task again. */
  readonly waitMs: number;
  /** Whether the engine's run is known to be over or never to have begun: the next attempt submits again. */
  readonly forgetRun: boolean;
  /** For the task's event log; no prompt, no upstream text. */
  readonly reason: string;
  /** The upstream's words, for operators: without keys and prompts. */
  readonly said?: string | undefined;
  /** The failed run, if its engine bills it anyway. */
  readonly billed?: ProviderAttempt | undefined;
  /** Whether the files of its run are of no use: it is generated again. */
  readonly dropFiles?: boolean;
}

/** Which runs a cancel may stop. */
export interface CancelablePools {
  /** Pools whose engine can stop a run in progress. */
  readonly stoppable: readonly string[];
  /** Those of them whose finished runs nobody bills: they may still be thrown away. */
  readonly discardable: readonly string[];
}

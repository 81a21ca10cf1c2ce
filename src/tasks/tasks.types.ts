import type { CatalogService } from '../catalog/catalog.service.ts';
import type { ProviderAttempt } from '../ledger/ledger.types.ts';
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
  /** Its place in its engine's own queue, from 1, while it waits there. */
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

/** What was ordered but for the prompt: pixels, steps, seconds; null where it is not known, or the engine's own. */
export interface OrderedSize {
  readonly width: number | null;
  readonly height: number | null;
  readonly steps: number | null;
  readonly seconds: number | null;
}

/** Signed addresses of a task's first files: no request leads to them, so a page of pictures costs nothing but the pictures. */
export interface TaskLinks {
  readonly content: string | null;
  readonly thumbnail: string | null;
  readonly poster: string | null;
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

/** How a claimed task goes back one step, for this or another worker. */
export interface ReturnedTask {
  readonly id: string;
  readonly attempt: number;
  /** 1 when this run counts towards the most failures a task may have, else 0. */
  readonly failures: 0 | 1;
  /** 1 when the engine broke off a run by going away. */
  readonly interruptions?: 0 | 1;
  /** No run began: it is not among those that customers read of. */
  readonly uncounted?: boolean;
  /** Ms for which it is left to other hosts, where there are any. */
  readonly avoidMs?: number;
  /** Ms before anybody may take it again. */
  readonly waitMs: number;
  /** The engine's run is known to be over or never to have begun: the next attempt submits afresh. */
  readonly forgetRun: boolean;
  /** For the task's event log; no prompt, no upstream text. */
  readonly reason: string;
  /** The upstream's words, for operators: without keys and prompts. */
  readonly said?: string | undefined;
  /** The run that failed, where its engine bills it all the same. */
  readonly billed?: ProviderAttempt | undefined;
}

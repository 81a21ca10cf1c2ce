import type { TaskOutput } from '../ledger/ledger.types.ts';
import type { FileContent } from '../lib/file-content.ts';
import { MinInterval } from '../lib/min-interval.ts';
import { nanoUsd } from '../lib/money.ts';
import type { MediaOutput, PostprocessJob } from '../media/postprocess.ts';
import type { Storage } from '../media/storage.types.ts';
import { storageKey } from '../media/storage-key.ts';
import { runAllToEnd } from '../media/temporary-folder.ts';
import type { Lease } from './lease-keeper.ts';
import type { StorageRetry } from './outage-retry.ts';
import type { ClaimedTask } from './task-claims.store.ts';
import type { EndingOutcome, EngineRun, TaskEndings } from './task-endings.ts';
import { readParameters, type TaskParameters } from './task-parameters.ts';
import { EVERY_TASK, type TaskReadsStore } from './task-reads.store.ts';
import type { LeasedState } from './task-state.ts';
import type { GeneratedRun } from './tasks.types.ts';

/** Checks an engine's output and turns it into what a customer gets; see postprocess in src/media. */
export type MediaPostprocess = (job: PostprocessJob) => Promise<readonly MediaOutput[]>;

export interface FinisherDependencies {
  readonly reads: Pick<TaskReadsStore, 'findTask' | 'listOutputs'>;
  readonly endings: TaskEndings;
  readonly storage: Storage;
  readonly patience: StorageRetry;
  readonly postprocess: MediaPostprocess;
}

/** The work to be finished, under the claim that the lease holds. */
export interface Finishing {
  readonly task: ClaimedTask;
  /** The state that the claim holds the task in. */
  readonly state: LeasedState;
  readonly lease: Lease;
  /** The engine's output, in order of index. */
  readonly inputs: readonly FileContent[];
  readonly run: EngineRun;
  readonly source: GeneratedRun['source'];
  /** Returns an empty folder of the attempt's own. Called only when something has to be on disk. */
  readonly folder: () => string;
}

const STARTED_PROGRESS = 0.91;
const MADE_PROGRESS = 0.97;
/** Minimum ms between two settlements of a process, so that a batch of the ledger holds several tasks. */
const SETTLE_PACE_MS = 50;

/** Turns an engine's output into stored files, and ends the task with its charge. */
export class TaskFinisher {
  readonly #dependencies: FinisherDependencies;
  readonly #pace = new MinInterval(SETTLE_PACE_MS);

  constructor(dependencies: FinisherDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Finishes a task. Any outcome but `settled` means that the claim was over; files stored for it that no attempt can need are
   * deleted again. Throws MediaError, StorageError, the signal's reason.
   */
  async finish(finishing: Finishing): Promise<EndingOutcome> {
    const { task, state, lease, run } = finishing;
    lease.report(STARTED_PROGRESS);
    const parameters = readParameters(task.parameters);
    const files = await this.#make(finishing, parameters);
    lease.report(MADE_PROGRESS);
    lease.signal.throwIfAborted();
    const outputs = await this.#storeAll(task, files, lease.signal);
    await this.#pace.begin();
    const fence = { attempt: task.attempt, from: [state] };
    const charge = { amount: task.charge, lines: parameters.chargeLines };
    const outcome = await this.#dependencies.endings.succeed(task, fence, charge, outputs, run);
    if (outcome !== 'settled') {
      await this.#clearUnused(task, outputs, outcome);
    }
    return outcome;
  }

  async #make(
    { task, lease, inputs, source, folder }: Finishing,
    { width, height, seconds }: Pick<TaskParameters, 'width' | 'height' | 'seconds'>,
  ): Promise<readonly MediaOutput[]> {
    lease.signal.throwIfAborted();
    return await this.#dependencies.postprocess({
      kind: task.kind,
      width,
      height,
      seconds,
      inputs,
      signal: lease.signal,
      ...(source ? { source } : {}),
      get folder() {
        return folder();
      },
    });
  }

  /** Stores the files. Equal files of one output share one object: a small image is its own thumbnail. */
  async #storeAll(
    task: ClaimedTask,
    files: readonly MediaOutput[],
    signal: AbortSignal,
  ): Promise<TaskOutput[]> {
    const stored = new Map<string, Promise<string>>();
    return await runAllToEnd<TaskOutput[]>(
      files.map(async ({ index, variant, mediaType, sha256, content, ...facts }) => {
        const same = `${index}/${sha256}`;
        const file = { index, variant, mediaType, sha256, content };
        const storing = stored.get(same) ?? this.#store(task, file, signal);
        stored.set(same, storing);
        const { bytes, width, height, durationMs = null } = facts;
        const key = await storing;
        return { index, variant, storageKey: key, mediaType, bytes, width, height, durationMs, sha256 };
      }),
    );
  }

  async #store(
    task: ClaimedTask,
    file: Pick<MediaOutput, 'index' | 'variant' | 'mediaType' | 'sha256' | 'content'>,
    signal: AbortSignal,
  ): Promise<string> {
    const { index, variant, mediaType, sha256, content } = file;
    const { accountId, id: taskId } = task;
    const createdAtMs = task.createdAt.getTime();
    const key = storageKey({ accountId, taskId, createdAtMs, index, variant, sha256, mediaType });
    const { storage, patience } = this.#dependencies;
    await patience.run(() => storage.putFile(key, content, mediaType), signal);
    return key;
  }

  /**
   * Deletes stored files that an ended task does not list. Keys are made of content, so another attempt may have stored the same
   * ones.
   */
  async #clearUnused(
    task: ClaimedTask,
    stored: readonly TaskOutput[],
    outcome: EndingOutcome,
  ): Promise<void> {
    const { reads, storage } = this.#dependencies;
    const ended = (await reads.findTask(task.id, EVERY_TASK))?.completedAt;
    if (outcome === 'fenced' && !ended) {
      return;
    }
    const kept = (await reads.listOutputs([task.id])).get(task.id) ?? [];
    const used = new Set(kept.map((output) => output.storageKey));
    for (const { storageKey: key } of stored.filter((output) => !used.has(output.storageKey))) {
      await storage.delete(key).catch(() => undefined);
    }
  }
}

/** Returns the run of a generated task, for its settlement. */
export function runOfGenerated(generated: Omit<GeneratedRun, 'outputs'>): EngineRun {
  const { engineId, model, latencyMs, cost } = generated;
  return { engineId, model, outcome: 'ok', latencyMs, cost: cost === null ? null : nanoUsd(cost) };
}

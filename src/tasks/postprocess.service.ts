import { join } from 'node:path';
import type { Logger } from '../lib/logger.ts';
import { MEDIA_CORRUPT } from '../media/media-error.ts';
import type { Storage } from '../media/storage.types.ts';
import { withTemporaryFolder } from '../media/temporary-folder.ts';
import type { AttemptOutcome } from './generate.types.ts';
import type { Lease, LeaseKeeper } from './lease-keeper.ts';
import {
  AFTER_STORAGE_OUTAGE,
  isStorageOutage,
  overdueError,
  type StorageRetry,
  StorageWaitError,
} from './outage-retry.ts';
import { deleteRaw } from './raw-outputs.ts';
import { backoffMs, FAILURES_MAX } from './retry-policy.ts';
import { abortReason } from './task-abort.ts';
import type { ClaimedTask, TaskClaimsStore } from './task-claims.store.ts';
import { type TaskEndings, toAttempt } from './task-endings.ts';
import { taskFields } from './task-fields.ts';
import { runOfGenerated, type TaskFinisher } from './task-finisher.ts';
import type { GeneratedRun, ReturnedTask } from './tasks.types.ts';

export interface PostprocessDependencies {
  readonly claims: TaskClaimsStore;
  readonly leases: LeaseKeeper;
  readonly endings: TaskEndings;
  readonly storage: Storage;
  readonly patience: StorageRetry;
  readonly finisher: Pick<TaskFinisher, 'finish'>;
  /** Returns whether another run of that engine costs money. */
  readonly isPaid: (engineId: string) => boolean;
  /** Returns whether a reference is that of a call which is over: the file went with its response and cannot be downloaded again. */
  readonly isHeld: (engineReference: string) => boolean;
}

export interface PostprocessSettings {
  readonly worker: string;
  readonly workFolder: string;
  readonly log: Logger;
}

/** Codes of a raw file that is broken, or no longer there. */
const FILE_FAULTS: ReadonlySet<string> = new Set([MEDIA_CORRUPT, 'media_not_found']);

/** Turns raw output into files and ends the task with its charge. */
export class PostprocessService {
  readonly #dependencies: PostprocessDependencies;
  readonly #settings: PostprocessSettings;

  constructor(dependencies: PostprocessDependencies, settings: PostprocessSettings) {
    this.#dependencies = dependencies;
    this.#settings = settings;
  }

  /** Makes one attempt at a generated task; see GenerateService.run. */
  async run(taskId: string, signal: AbortSignal): Promise<AttemptOutcome> {
    const { claims, leases } = this.#dependencies;
    const task = await claims.claim(taskId, 'processing', this.#settings.worker, leases.leaseMs);
    if (!task) {
      return { result: 'skipped' };
    }
    if (task.generated === null || task.failures >= FAILURES_MAX) {
      return await this.#fail(task, {
        code: 'upstream_unavailable',
        message: 'every attempt at this task failed',
      });
    }
    const lease = leases.hold(task, signal);
    try {
      const { generated } = task;
      const folder = this.#settings.workFolder;
      return await withTemporaryFolder(folder, task.id, (own) => this.#process(task, generated, lease, own));
    } catch (error) {
      return await this.#afterFailure(task, lease, error);
    } finally {
      lease.release();
    }
  }

  async #process(
    task: ClaimedTask,
    generated: GeneratedRun,
    lease: Lease,
    folder: string,
  ): Promise<AttemptOutcome> {
    const { finisher } = this.#dependencies;
    const inputs = await this.#fetch(generated, lease, folder);
    const outcome = await finisher.finish({
      task,
      state: 'processing',
      lease,
      inputs,
      run: runOfGenerated(generated),
      source: generated.source,
      folder: () => folder,
    });
    if (outcome !== 'settled') {
      return { result: 'claim_lost' };
    }
    await this.#deleteRaw(task, generated);
    return { result: 'advanced' };
  }

  /** Fetches the raw files, in the order of their index. */
  async #fetch(generated: GeneratedRun, lease: Lease, folder: string): Promise<string[]> {
    const inputs: string[] = [];
    for (const { index, storageKey: key } of [...generated.outputs].sort((a, b) => a.index - b.index)) {
      lease.signal.throwIfAborted();
      const path = join(folder, `${index}.raw`);
      const { storage, patience } = this.#dependencies;
      await patience.run(() => storage.getFile(key, path), lease.signal);
      inputs.push(path);
    }
    return inputs;
  }

  async #afterFailure(task: ClaimedTask, lease: Lease, error: unknown): Promise<AttemptOutcome> {
    const { claims, endings } = this.#dependencies;
    const fence = { attempt: task.attempt, from: ['processing'] as const };
    switch (abortReason(lease.signal)) {
      case 'claim_lost':
        return { result: 'claim_lost' };
      case 'canceled':
        await endings.cancel(task, fence);
        await this.#deleteRaw(task, task.generated);
        return { result: 'ended' };
      case 'overdue':
        return await this.#fail(task, overdueError(error instanceof StorageWaitError));
      case 'shutdown':
      case 'run_timeout':
        await claims.giveBack({ ...backOf(task), failures: 0, waitMs: 0, reason: 'shutdown' });
        return { result: 'returned' };
      case undefined:
        return await this.#retryOrFail(task, error);
    }
  }

  async #retryOrFail(task: ClaimedTask, error: unknown): Promise<AttemptOutcome> {
    const { claims } = this.#dependencies;
    const code = codeOf(error);
    this.#settings.log.warn({ error, ...taskFields(task), code }, 'post-processing failed');
    const { generated } = task;
    const isUseless = generated !== null && FILE_FAULTS.has(code);
    const isPaid = isUseless && this.#dependencies.isPaid(generated.engineId);
    if (isPaid && this.#canCollectAgain(task)) {
      return await this.#collectAgain(task, generated, code);
    }
    if (isFinal(error) || (isPaid && code === MEDIA_CORRUPT)) {
      return await this.#fail(task, { code, message: 'the engine did not make a usable file' });
    }
    if (isStorageOutage(error)) {
      await claims.giveBack({ ...backOf(task), ...AFTER_STORAGE_OUTAGE });
      return { result: 'returned' };
    }
    if (task.failures + 1 >= FAILURES_MAX) {
      return await this.#fail(task, {
        code: 'upstream_unavailable',
        message: 'every attempt at this task failed',
      });
    }
    const back = { ...backOf(task), failures: 1 as const, waitMs: backoffMs(task.failures), reason: code };
    if (isUseless && !isPaid) {
      return await this.#generateAgain(task, generated, back);
    }
    await claims.giveBack(back);
    return { result: 'returned' };
  }

  /** Gives a task back to its engine: another look at a broken or missing file would change nothing. */
  async #generateAgain(
    task: ClaimedTask,
    generated: GeneratedRun,
    back: ReturnedTask,
  ): Promise<AttemptOutcome> {
    const { cost, ...run } = runOfGenerated(generated);
    const billed = cost === null ? undefined : toAttempt({ ...run, outcome: back.reason, cost });
    return await this.#toEngine(task, generated, { ...back, forgetRun: true, billed });
  }

  /**
   * Gives a task back to have the result of its run downloaded again, because another run would be paid again: a download that was cut off
   * without stating its length looks like a broken file, and a database restored to a moment lists files that were deleted since.
   */
  async #collectAgain(task: ClaimedTask, generated: GeneratedRun, reason: string): Promise<AttemptOutcome> {
    const waitMs = backoffMs(task.failures);
    const back = { ...backOf(task), failures: 0, waitMs, uncounted: true, reason } as const;
    return await this.#toEngine(task, generated, back);
  }

  async #toEngine(task: ClaimedTask, generated: GeneratedRun, back: ReturnedTask): Promise<AttemptOutcome> {
    if (await this.#dependencies.claims.giveBack({ ...back, dropFiles: true })) {
      await this.#deleteRaw(task, generated);
    }
    return { result: 'returned' };
  }

  async #fail(task: ClaimedTask, error: { code: string; message: string }): Promise<AttemptOutcome> {
    const fence = { attempt: task.attempt, from: ['processing'] as const };
    const run = task.generated && runOfGenerated(task.generated);
    const outcome = await this.#dependencies.endings.fail(task, fence, error, run);
    if (outcome === 'settled') {
      await this.#deleteRaw(task, task.generated);
    }
    return { result: 'failed', code: error.code };
  }

  /** Returns whether the run's file can be downloaded again, and has not been. */
  #canCollectAgain({ engineReference, lastFailure }: ClaimedTask): boolean {
    const { isHeld } = this.#dependencies;
    return engineReference !== null && !isHeld(engineReference) && !FILE_FAULTS.has(lastFailure ?? '');
  }

  /** Deletes the raw files. One that stays behind costs space, not correctness: the task is settled. */
  async #deleteRaw(task: ClaimedTask, generated: GeneratedRun | null): Promise<void> {
    const left = await deleteRaw(this.#dependencies.storage, task, generated?.outputs ?? []);
    if (left.length > 0) {
      this.#settings.log.warn({ ...taskFields(task), files: left.length }, 'raw files could not be deleted');
    }
  }
}

function backOf(task: ClaimedTask): { id: string; attempt: number; forgetRun: boolean } {
  return { id: task.id, attempt: task.attempt, forgetRun: false };
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : 'internal_error';
}

/** Returns whether the error itself says that another try is pointless. */
function isFinal(error: unknown): boolean {
  return error instanceof Error && 'retryable' in error && error.retryable === false;
}

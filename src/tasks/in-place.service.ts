import type { EngineOutput } from '../engines/engine.types.ts';
import { LiveSet } from '../lib/live-set.ts';
import type { Logger } from '../lib/logger.ts';
import { Semaphore } from '../lib/semaphore.ts';
import type { Lease } from './lease-keeper.ts';
import { StorageWaitError } from './outage-retry.ts';
import type { ClaimedRun, ClaimedTask } from './task-claims.store.ts';
import { taskFields } from './task-fields.ts';
import { runOfGenerated, type TaskFinisher } from './task-finisher.ts';
import type { GeneratedRun } from './tasks.types.ts';

export interface InPlaceSettings {
  /** Tasks that this process may finish at once. */
  readonly places: number;
  /** Maximum memory in bytes of their files together, as they came from the engine. A single task may exceed it. */
  readonly bytesMax: number;
  /** Ms that a task waits for a place while it still holds its engine's slot. After that it goes through the queue. */
  readonly waitMs: number;
}

/** A generated task that is still under the claim it was generated with. */
export interface InPlaceTask<Task extends ClaimedRun = ClaimedTask> {
  readonly task: Task;
  readonly lease: Lease;
  readonly generated: Omit<GeneratedRun, 'outputs'>;
  readonly outputs: readonly EngineOutput[];
  readonly folder: () => string;
}

/** Lets a task be finished by the process that generated it; see {@link InPlaceService}. */
export interface InPlaceRuns<Task extends ClaimedRun> {
  track(attempt: Promise<unknown>): void;
  finish(attempt: InPlaceTask<Task>, leaveSlot: () => void): Promise<'advanced' | 'claim_lost' | 'handed_on'>;
}

/**
 * Finishes images in the process that generated them: no raw file, no second claim, no second job. If the process dies meanwhile,
 * the lease expires and the task is generated again, so this is only for engines that cost nothing. If anything goes wrong with the
 * files, the task goes on to post-processing like any other.
 */
export class InPlaceService implements InPlaceRuns<ClaimedTask> {
  readonly #finisher: Pick<TaskFinisher, 'finish'>;
  readonly #settings: InPlaceSettings;
  readonly #log: Logger;
  readonly #running = new LiveSet<Promise<unknown>>();
  readonly #places: Semaphore;
  #bytesInHand = 0;

  constructor(finisher: Pick<TaskFinisher, 'finish'>, settings: InPlaceSettings, log: Logger) {
    this.#finisher = finisher;
    this.#settings = settings;
    this.#places = new Semaphore(settings.places);
    this.#log = log;
  }

  /** Resolves when everything in progress has ended. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) {
      await Promise.allSettled(this.#running.values());
    }
  }

  /** Keeps {@link idle} waiting until the attempt is over. It may outlive its job, which then cannot report its errors. */
  track(attempt: Promise<unknown>): void {
    const leave = this.#running.add(attempt);
    attempt.catch((error: unknown) => this.#log.warn({ error }, 'an attempt failed')).finally(leave);
  }

  /**
   * Finishes the task, or returns `handed_on` if post-processing has to do it. Calls `leaveSlot` before the work begins: from then
   * on the engine's slot is free for the next task. Throws what ends the attempt: the lease's reason, or the error of a database
   * that is away.
   */
  async finish(
    attempt: InPlaceTask,
    leaveSlot: () => void,
  ): Promise<'advanced' | 'claim_lost' | 'handed_on'> {
    const { task, lease, generated, outputs, folder } = attempt;
    const { bytesMax, waitMs } = this.#settings;
    if (task.kind !== 'image' || !(await this.#places.enterWithin(waitMs))) {
      return 'handed_on';
    }
    const bytes = outputs.reduce((sum, { file }) => sum + (typeof file === 'string' ? 0 : file.length), 0);
    if (this.#bytesInHand > 0 && this.#bytesInHand + bytes > bytesMax) {
      this.#places.leave();
      return 'handed_on';
    }
    this.#bytesInHand += bytes;
    leaveSlot();
    const startedAt = performance.now();
    try {
      const inputs = [...outputs].sort((a, b) => a.index - b.index).map(({ file }) => file);
      const { source } = generated;
      const run = runOfGenerated(generated);
      const outcome = await this.#finisher.finish({
        task,
        state: 'generating',
        lease,
        inputs,
        run,
        source,
        folder,
      });
      const result = outcome === 'settled' ? 'advanced' : 'claim_lost';
      const durationMs = Math.round(performance.now() - startedAt);
      this.#log.info({ ...taskFields(task), outcome: result, durationMs }, 'finished in place');
      return result;
    } catch (error) {
      if (error instanceof StorageWaitError) {
        throw error;
      }
      lease.signal.throwIfAborted();
      this.#log.warn(
        { error, ...taskFields(task) },
        'could not finish a task in place: it goes on to post-processing',
      );
      return 'handed_on';
    } finally {
      this.#bytesInHand -= bytes;
      this.#places.leave();
    }
  }
}

import {
  type Engine,
  EngineError,
  type EngineFailure,
  type EngineOutput,
  type EngineRequest,
} from '../engines/engine.types.ts';
import { RUN_TOO_LONG } from '../engines/engine-failures.ts';
import { type NanoUsd, nanoUsd } from '../lib/money.ts';
import { RunFailureError, type RunParts, requestOf, runOnEngine, stopRun } from './engine-run.ts';
import type { AttemptOutcome, GenerateDependencies, GenerateSettings } from './generate.types.ts';
import { AFTER_GPU_MEMORY_SHORTAGE, GpuMemoryUnavailableError } from './gpu-memory-gate.ts';
import type { Lease } from './lease-keeper.ts';
import {
  AFTER_STORAGE_OUTAGE,
  isStorageOutage,
  overdueError,
  persist,
  StorageWaitError,
} from './outage-retry.ts';
import { deleteRaw, storeRaw, withScratchFolder } from './raw-outputs.ts';
import { INTERRUPTIONS_MAX } from './retry-policy.ts';
import { engineRunOf, RunFailures } from './run-failures.ts';
import { abortReason, TaskAbortError, type TaskAbortReason } from './task-abort.ts';
import type { ClaimedRun, ClaimedTask } from './task-claims.store.ts';
import { taskFields } from './task-fields.ts';
import type { GeneratedRun } from './tasks.types.ts';

const ROOM_WAIT_MS = 10_000;
/** Share of the progress bar for generating; post-processing has the rest. */
export const GENERATE_SHARE = 0.9;

/** An attempt and what is known about it so far. */
interface Attempt<Task extends ClaimedRun> {
  readonly task: Task;
  readonly lease: Lease;
  readonly engine: Engine;
  readonly request: EngineRequest;
  /** On the clock of `performance.now()`, in ms. */
  beganAt: number;
  reference: string | undefined;
  /** What the run will be billed at, if its engine says so. */
  cost: NanoUsd | null;
  /** Ends a run that takes too long. */
  timer?: NodeJS.Timeout;
}

/** Runs claimed tasks on their engines and hands on their raw output, wherever the claims are stored. */
export class GenerateService<Task extends ClaimedRun = ClaimedTask> {
  readonly #dependencies: GenerateDependencies<Task>;
  readonly #settings: GenerateSettings;
  readonly #failures: RunFailures<Task>;

  constructor(dependencies: GenerateDependencies<Task>, settings: GenerateSettings) {
    this.#dependencies = dependencies;
    this.#settings = settings;
    this.#failures = new RunFailures(dependencies);
  }

  /**
   * Makes one attempt at a task that was claimed for it. Resolves when the engine's slot is free; an image that is finished in
   * place may not be ready by then. Throws only when the claims cannot be reached; the lease then expires and the task comes back.
   */
  async run(task: Task, signal: AbortSignal): Promise<AttemptOutcome> {
    const { leases, endings, engines, inPlace, policyOf } = this.#dependencies;
    const engine = engines.find(task.pool);
    const fence = { attempt: task.attempt, from: ['generating'] as const };
    const isSpent = task.failures >= policyOf(task).attempts || task.interruptions >= INTERRUPTIONS_MAX;
    if (isSpent || !engine?.capabilities.kinds.includes(task.kind)) {
      const message = engine
        ? 'every attempt at this task failed'
        : 'no engine serves this model at the moment';
      const error = { code: 'upstream_unavailable', message };
      await endings.fail(task, fence, error);
      return { result: 'failed', code: error.code };
    }
    const attempt: Attempt<Task> = {
      task,
      lease: leases.hold(task, signal),
      engine,
      request: requestOf(task, this.#dependencies.extraOf?.(task)),
      beganAt: performance.now(),
      reference: undefined,
      cost: null,
    };
    return await new Promise<AttemptOutcome>((leaveSlot, reject) => {
      const over = this.#carryOut(attempt, leaveSlot);
      inPlace?.track(over);
      over.then(leaveSlot, reject);
    });
  }

  async #carryOut(
    attempt: Attempt<Task>,
    leaveSlot: (outcome: AttemptOutcome) => void,
  ): Promise<AttemptOutcome> {
    const { task, lease } = attempt;
    let leaveRoom = (): void => undefined;
    try {
      leaveRoom = await this.#enterRoom(attempt);
      attempt.beganAt = performance.now();
      attempt.timer = setTimeout(
        () => lease.abort('run_timeout'),
        this.#dependencies.policyOf(task).timeoutMs,
      );
      const base = this.#settings.workFolder;
      const leave = (outcome: AttemptOutcome): void => {
        leaveRoom();
        leaveSlot(outcome);
      };
      return await withScratchFolder(base, task.id, (folder) => this.#generate(attempt, folder, leave));
    } catch (error) {
      return await this.#afterFailure(attempt, error);
    } finally {
      clearTimeout(attempt.timer);
      leaveRoom();
      lease.release();
    }
  }

  /** Waits a little for GPU memory. Throws GpuMemoryUnavailableError when there is none: another host may have some sooner. */
  async #enterRoom({ task, lease }: Attempt<Task>): Promise<() => void> {
    const { rooms } = this.#dependencies;
    if (!rooms?.isShared(task.pool)) {
      return () => undefined;
    }
    const waitMs = this.#settings.roomWaitMs ?? ROOM_WAIT_MS;
    const signal = AbortSignal.any([lease.signal, AbortSignal.timeout(waitMs)]);
    return await rooms.take(task.pool, signal).catch((error: unknown) => {
      throw lease.signal.aborted ? error : new GpuMemoryUnavailableError();
    });
  }

  async #generate(
    attempt: Attempt<Task>,
    folder: () => string,
    leaveSlot: (outcome: AttemptOutcome) => void,
  ): Promise<AttemptOutcome> {
    const { claims, inPlace } = this.#dependencies;
    const { task, lease, engine, request } = attempt;
    const context = {
      get folder() {
        return folder();
      },
      signal: lease.signal,
      onProgress: (progress: number) => lease.report(progress * GENERATE_SHARE),
    };
    const parts: RunParts = {
      task,
      engine,
      request,
      context,
      claims,
      onReference: (reference) => {
        attempt.reference = reference;
      },
      onStatus: ({ state, queuePosition, costNanoUsd }) => {
        lease.waitsAt(state === 'queued' ? queuePosition : undefined);
        attempt.cost = costNanoUsd === undefined ? attempt.cost : nanoUsd(costNanoUsd);
      },
    };
    const { reference } = await runOnEngine(parts);
    const outputs = await engine.collect(reference, request, context);
    this.#failures.succeeded(attempt);
    lease.signal.throwIfAborted();
    const generated = {
      engineId: engine.id,
      model: request.model,
      latencyMs: Math.round(performance.now() - attempt.beganAt),
      cost: attempt.cost?.toString() ?? null,
      ...(engine.capabilities.algorithmic ? { source: 'algorithmicMedia' as const } : {}),
    };
    // Output that was paid for is stored before anything else happens to it.
    if (inPlace && !engine.capabilities.paid) {
      const whole = { task, lease, generated, outputs, folder };
      const result = await inPlace.finish(whole, () => leaveSlot({ result: 'advanced' }));
      if (result !== 'handed_on') {
        return { result };
      }
    }
    return await this.#handOn(attempt, generated, outputs);
  }

  /** Stores the raw output for post-processing, which any worker can do from then on. */
  async #handOn(
    { task, lease, timer }: Attempt<Task>,
    run: Omit<GeneratedRun, 'outputs'>,
    collected: readonly EngineOutput[],
  ): Promise<AttemptOutcome> {
    const { claims, storage, patience, endings } = this.#dependencies;
    const outputs = await patience.run(() => storeRaw(storage, task, collected), lease.signal);
    clearTimeout(timer);
    const generated: GeneratedRun = { ...run, outputs };
    const mark = () => claims.markGenerated(task.id, task.attempt, generated, GENERATE_SHARE);
    const { answer: marked, isRepeated } = await persist(mark, lease.signal);
    if (!marked) {
      // the task needs the files if only the reply of the first try was lost; if not, the sweep of unlisted files removes them
      await (isRepeated ? undefined : deleteRaw(storage, task, outputs));
      return { result: 'claim_lost' };
    }
    if (marked.cancelRequested) {
      await endings.cancel(task, { attempt: null, from: ['generated'] });
      await deleteRaw(storage, task, outputs);
      return { result: 'ended' };
    }
    return { result: 'advanced' };
  }

  async #afterFailure(attempt: Attempt<Task>, error: unknown): Promise<AttemptOutcome> {
    const { task, lease } = attempt;
    const reason = error instanceof TaskAbortError ? error.reason : abortReason(lease.signal);
    if (reason) {
      return await this.#afterAbort(attempt, reason, error instanceof StorageWaitError);
    }
    if (error instanceof GpuMemoryUnavailableError) {
      await this.#dependencies.claims.giveBack({ ...giveBackOf(task), ...AFTER_GPU_MEMORY_SHORTAGE });
      return { result: 'returned' };
    }
    if (isStorageOutage(error)) {
      // the scratch disk failed: the task itself may be fine, and output that was paid for is collected again
      await this.#dependencies.claims.giveBack({ ...giveBackOf(task), ...AFTER_STORAGE_OUTAGE });
      this.#dependencies.log.error(
        { error, ...taskFields(task) },
        'the disk is full or cannot be written: the task waits',
      );
      return { result: 'returned', pausePoolMs: AFTER_STORAGE_OUTAGE.waitMs };
    }
    if (error instanceof RunFailureError) {
      return await this.#afterRunFailure(attempt, error.failure, error.runIsOver);
    }
    if (error instanceof EngineError) {
      return await this.#afterRunFailure(attempt, error.failure, false);
    }
    this.#dependencies.log.error({ error, ...taskFields(task) }, 'an attempt failed unexpectedly');
    const message = 'internal error while running the task';
    return await this.#afterRunFailure(attempt, { code: 'internal_error', message, retryable: true }, false);
  }

  async #afterAbort(
    attempt: Attempt<Task>,
    reason: TaskAbortReason,
    isStorageAway: boolean,
  ): Promise<AttemptOutcome> {
    const { claims, endings } = this.#dependencies;
    const { task } = attempt;
    const fence = { attempt: task.attempt, from: ['generating'] as const };
    switch (reason) {
      case 'claim_lost':
        // The next attempt may already poll the same run, so it must not be canceled here.
        return { result: 'claim_lost' };
      case 'canceled':
        await this.#stopEngine(attempt);
        await endings.cancel(task, fence, attempt.cost === null ? null : engineRunOf(attempt, 'canceled'));
        return { result: 'ended' };
      case 'overdue': {
        await this.#stopEngine(attempt);
        const error = overdueError(isStorageAway);
        await endings.fail(task, fence, error, engineRunOf(attempt, error.code));
        return { result: 'failed', code: error.code };
      }
      case 'run_timeout': {
        if (isStorageAway) {
          // the output exists: keep the run, so that the next attempt collects it again
          await claims.giveBack({ ...giveBackOf(task), ...AFTER_STORAGE_OUTAGE });
          return { result: 'returned' };
        }
        const stopped = (await this.#stopEngine(attempt)) === 'stopped';
        return await this.#afterRunFailure(attempt, RUN_TOO_LONG, stopped);
      }
      case 'shutdown':
        // Keeps the reference: the next attempt picks up a run that continues upstream.
        await claims.giveBack({ ...giveBackOf(task), failures: 0, waitMs: 0, forgetRun: false, reason });
        return { result: 'returned' };
    }
  }

  async #afterRunFailure(
    attempt: Attempt<Task>,
    failure: EngineFailure,
    isOver: boolean,
  ): Promise<AttemptOutcome> {
    const accepted = attempt.reference !== undefined;
    return await this.#failures.settle({ ...attempt, failure, accepted, isOver });
  }

  #stopEngine({ engine, request, reference, task }: Attempt<Task>): ReturnType<typeof stopRun> {
    return stopRun(engine, request, reference, (error) =>
      this.#dependencies.log.warn(
        { error, ...taskFields(task) },
        'an engine could not be told to stop a run',
      ),
    );
  }
}

function giveBackOf(task: ClaimedRun): { id: string; attempt: number } {
  return { id: task.id, attempt: task.attempt };
}

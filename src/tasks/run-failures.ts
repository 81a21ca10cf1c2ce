import type { Engine, EngineFailure, EngineRequest } from '../engines/engine.types.ts';
import {
  ENGINE_AWAY,
  INTERRUPTED,
  MISCONFIGURED,
  OUT_OF_MEMORY,
  RUN_LOST,
} from '../engines/engine-failures.ts';
import type { Logger } from '../lib/logger.ts';
import type { NanoUsd } from '../lib/money.ts';
import type { EngineRests } from './engine-rests.ts';
import type {
  AttemptOutcome,
  AttemptPolicy,
  GenerateDependencies,
  RunClaims,
  RunEndings,
} from './generate.types.ts';
import { MisconfiguredModels } from './misconfigured-models.ts';
import { PoolPatience } from './pool-patience.ts';
import { backoffMs, INTERRUPTIONS_MAX } from './retry-policy.ts';
import type { ClaimedRun, ClaimedTask } from './task-claims.store.ts';
import { type EngineRun, toAttempt } from './task-endings.ts';
import { taskFields } from './task-fields.ts';
import type { ReturnedTask } from './tasks.types.ts';
import { wordsForOperators } from './upstream-words.ts';

/** A run that failed, with what is known of it. */
export interface FailedRun<Task extends ClaimedRun = ClaimedTask> {
  readonly task: Task;
  readonly engine: Engine;
  readonly request: EngineRequest;
  /** Unix ms. */
  readonly beganAt: number;
  readonly failure: EngineFailure;
  /** Whether the engine had accepted the task. */
  readonly accepted: boolean;
  /** Whether it is known that nothing of it goes on upstream. */
  readonly isOver: boolean;
  /** What the engine's operator bills for it, where it says so. */
  readonly cost: NanoUsd | null;
}

export interface RunFailuresDependencies<Task extends ClaimedRun> {
  readonly claims: Pick<RunClaims, 'giveBack'>;
  readonly endings: RunEndings<Task>;
  readonly rests: EngineRests;
  readonly policyOf: (task: Task) => AttemptPolicy;
  readonly onRun?: GenerateDependencies['onRun'];
  readonly log: Logger;
}

/** Ms: an upstream that asks for more is asked again after this. */
const PAUSE_MS_MAX = 600_000;
/** Ms for which a task that failed on a host is left to other hosts, where there are any. */
const AVOID_MS = 60_000;
/** Ms an engine has to give back its memory. */
const FREE_MEMORY_MS = 5_000;

/** Steps of the back-off that a task skips where its engine is set up wrong: people are slower than machines. */
const MISCONFIGURED_STEPS = 3;

type Return = Omit<ReturnedTask, 'id' | 'attempt' | 'reason'>;

/**
 * Decides what becomes of a task whose run failed. An engine that is away is no failure of the task: it waits, for this host or
 * another, until its deadline. What is wrong with the task itself ends it at once. All else is tried again, on another host if there is one.
 */
export class RunFailures<Task extends ClaimedRun> {
  readonly #dependencies: RunFailuresDependencies<Task>;
  readonly #patience = new PoolPatience(Date.now);
  readonly #misconfigured = new MisconfiguredModels(Date.now);

  constructor(dependencies: RunFailuresDependencies<Task>) {
    this.#dependencies = dependencies;
  }

  /** Gives the task back or ends it. Throws when the database is away. */
  async settle(run: FailedRun<Task>): Promise<AttemptOutcome> {
    const { failure } = run;
    this.#note(run);
    if (failure.code === MISCONFIGURED.code) {
      return await this.#afterMisconfiguration(run);
    }
    if (!failure.retryable) {
      return await this.#end(run, failure.code);
    }
    if (failure.retryAfterMs !== undefined) {
      return await this.#putOff(run, failure.retryAfterMs);
    }
    if (failure.code === OUT_OF_MEMORY.code) {
      return await this.#afterOutOfMemory(run);
    }
    const isAway = await this.#isAway(run);
    return isAway || INTERRUPTED.has(failure.code)
      ? await this.#afterAbsence(run, isAway)
      : await this.#afterFailure(run);
  }

  /** A run went well: its engine and model are set up right. */
  succeeded({ task, request, beganAt }: Pick<FailedRun<Task>, 'task' | 'request' | 'beganAt'>): void {
    this.#dependencies.onRun?.(task.pool, 'ok', performance.now() - beganAt);
    this.#misconfigured.succeeded(task.pool, request.model);
  }

  /** Asked of the engine where the failure leaves it open; then it rests here before the task goes back. */
  async #isAway({ task, failure }: FailedRun<Task>): Promise<boolean> {
    const { rests } = this.#dependencies;
    const isAway = ENGINE_AWAY.has(failure.code) || !(await rests.isReady(task.pool));
    if (isAway) {
      rests.begin(task.pool);
    }
    return isAway;
  }

  /** The engine went away. Nobody can tell whether the task is what makes it go, so runs that had begun are counted, generously. */
  async #afterAbsence(run: FailedRun<Task>, isAway: boolean): Promise<AttemptOutcome> {
    const { task, accepted, isOver, failure } = run;
    const neverBegan = !accepted || (isOver && failure.code !== RUN_LOST.code);
    if (!neverBegan && task.interruptions + 1 >= INTERRUPTIONS_MAX) {
      return await this.#end(run, 'upstream_unavailable');
    }
    return await this.#giveBack(run, {
      failures: 0,
      interruptions: neverBegan ? 0 : 1,
      uncounted: neverBegan,
      waitMs: isAway ? 0 : backoffMs(task.interruptions, this.#dependencies.policyOf(task)),
      forgetRun: isOver,
    });
  }

  /** Being asked to wait is no failure of the task. Its waits grow, so its deadline bounds how often that can happen. */
  async #putOff(run: FailedRun<Task>, retryAfterMs: number): Promise<AttemptOutcome> {
    const { task, isOver } = run;
    const putOffs = Math.max(0, task.attempt - 1 - task.failures - task.interruptions);
    const waitMs = Math.min(Math.max(retryAfterMs, backoffMs(putOffs)), PAUSE_MS_MAX);
    const returned = await this.#giveBack(run, { failures: 0, waitMs, forgetRun: isOver });
    const pausePoolMs = this.#patience.putOff(task.pool, task.accountId, waitMs);
    return { ...returned, ...(pausePoolMs !== undefined && { pausePoolMs }) };
  }

  /** What another model has left in the memory may be in the way; a second time it is the task that is too large. */
  async #afterOutOfMemory(run: FailedRun<Task>): Promise<AttemptOutcome> {
    const { task, engine, failure } = run;
    if (task.lastFailure === failure.code) {
      return await this.#end(run, failure.code);
    }
    await engine.freeMemory?.(AbortSignal.timeout(FREE_MEMORY_MS)).catch((error: unknown) => {
      this.#dependencies.log.warn({ error, pool: task.pool }, 'the engine did not free its memory');
    });
    return await this.#afterFailure(run);
  }

  /**
   * No fault of the order, and another host may be set up right. Where the engine refuses every run, tasks wait without a count of their
   * failures, to be made once it is mended; a refusal of this task alone is counted.
   */
  async #afterMisconfiguration(run: FailedRun<Task>): Promise<AttemptOutcome> {
    const { task, request } = run;
    const policy = this.#dependencies.policyOf(task);
    const { isBroken, restMs } = this.#misconfigured.refused(task.pool, request.model, task.accountId);
    if (!isBroken && task.failures + 1 >= policy.attempts) {
      return await this.#end(run, MISCONFIGURED.code);
    }
    if (restMs !== undefined) {
      this.#dependencies.rests.pauseMisconfigured(task.pool, restMs);
    }
    return await this.#giveBack(run, {
      failures: isBroken ? 0 : 1,
      waitMs: backoffMs(task.failures + MISCONFIGURED_STEPS, policy),
      forgetRun: run.isOver,
      avoidMs: AVOID_MS,
    });
  }

  async #afterFailure(run: FailedRun<Task>): Promise<AttemptOutcome> {
    const { task, isOver } = run;
    const policy = this.#dependencies.policyOf(task);
    if (task.failures + 1 >= policy.attempts) {
      return await this.#end(run, 'upstream_unavailable');
    }
    return await this.#giveBack(run, {
      failures: 1,
      waitMs: backoffMs(task.failures, policy),
      forgetRun: isOver,
      avoidMs: AVOID_MS,
    });
  }

  #note(run: FailedRun<Task>): void {
    const { task, failure } = run;
    const { log, onRun } = this.#dependencies;
    const fields = { ...taskFields(task), pool: task.pool, engine: run.engine.id, code: failure.code };
    onRun?.(task.pool, failure.code, performance.now() - run.beganAt);
    log[failure.code === MISCONFIGURED.code ? 'error' : 'warn'](fields, 'a run failed');
    log.debug({ ...fields, said: wordsOf(run) }, 'what the upstream said');
  }

  async #giveBack(run: FailedRun<Task>, back: Return): Promise<AttemptOutcome> {
    const { task, failure } = run;
    const { id, attempt } = task;
    const said = wordsOf(run);
    // a run that is not forgotten is asked for again, and says again what it costs
    const isBilled = back.forgetRun && run.cost !== null;
    const billed = isBilled ? toAttempt(engineRunOf(run, failure.code)) : undefined;
    await this.#dependencies.claims.giveBack({ id, attempt, reason: failure.code, said, billed, ...back });
    return { result: 'returned' };
  }

  async #end(run: FailedRun<Task>, code: string): Promise<AttemptOutcome> {
    const { task, failure } = run;
    const fence = { attempt: task.attempt, from: ['generating'] as const };
    const error = { code, message: failure.message };
    const ended = { ...engineRunOf(run, failure.code), said: wordsOf(run) };
    await this.#dependencies.endings.fail(task, fence, error, ended);
    return { result: 'failed', code };
  }
}

function wordsOf({ failure, request }: Pick<FailedRun, 'failure' | 'request'>): string | undefined {
  return failure.said === undefined ? undefined : wordsForOperators(failure.said, request.prompt);
}

/** The run for the settlement that ends its task. */
export function engineRunOf(
  { engine, request, beganAt, cost }: Pick<FailedRun, 'engine' | 'request' | 'beganAt' | 'cost'>,
  outcome: string,
): EngineRun {
  return {
    engineId: engine.id,
    model: request.model,
    outcome,
    latencyMs: Math.round(performance.now() - beganAt),
    cost,
  };
}

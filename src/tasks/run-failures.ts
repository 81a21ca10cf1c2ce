import type { Engine, EngineFailure, EngineRequest } from '../engines/engine.types.ts';
import {
  ENGINE_AWAY,
  INTERRUPTED,
  MISCONFIGURED,
  OUT_OF_MEMORY,
  RUN_CANCELED,
  RUN_LOST,
  RUN_TOO_LONG,
} from '../engines/engine-failures.ts';
import type { Logger } from '../lib/logger.ts';
import { LruMap } from '../lib/lru-map.ts';
import type { NanoUsd } from '../lib/money.ts';
import { redactForOperators } from '../lib/redaction.ts';
import type { EngineRests } from './engine-rests.ts';
import type {
  AttemptOutcome,
  AttemptPolicy,
  GenerateDependencies,
  RunClaims,
  RunEndings,
} from './generate.types.ts';
import { MisconfiguredModels } from './misconfigured-models.ts';
import { backoffMs, INTERRUPTIONS_MAX } from './retry-policy.ts';
import type { ClaimedRun, ClaimedTask } from './task-claims.store.ts';
import { type EngineRun, toAttempt } from './task-endings.ts';
import { taskFields } from './task-fields.ts';
import type { ReturnedTask } from './tasks.types.ts';

/** A failed run and what is known about it. */
export interface FailedRun<Task extends ClaimedRun = ClaimedTask> {
  readonly task: Task;
  readonly engine: Engine;
  readonly request: EngineRequest;
  /** On the clock of `performance.now()`, in ms. */
  readonly beganAt: number;
  readonly failure: EngineFailure;
  /** Whether the engine had accepted the task. */
  readonly accepted: boolean;
  /** Whether it is certain that nothing of it continues upstream. */
  readonly isOver: boolean;
  /** What the engine's operator bills for it, if known. */
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

/** Maximum wait in ms: an upstream that asks for more is asked again after this. */
const PAUSE_MS_MAX = 600_000;
/** Ms for which a task that failed on a host is left to other hosts, if there are any. */
const AVOID_MS = 60_000;
/** Ms that an engine has to free its memory. */
const FREE_MEMORY_MS = 5_000;

/** Backoff steps that a task skips if its engine is misconfigured: people are slower than machines. */
const MISCONFIGURED_STEPS = 3;

/** Accounts whose tasks must be put off at the same time before their pool rests: fewer may be causing the refusals themselves. */
const ACCOUNTS_MIN = 3;
/** Maximum accounts remembered for a pool. */
const ACCOUNTS_MAX = 500;

type Return = Omit<ReturnedTask, 'id' | 'attempt' | 'reason'>;

/**
 * Decides what happens to a task whose run failed. An engine that is away is not a failure of the task: it waits, for this host or
 * another, until its deadline. A problem of the task itself ends it at once. Everything else is retried, on another host if there
 * is one.
 */
export class RunFailures<Task extends ClaimedRun> {
  readonly #dependencies: RunFailuresDependencies<Task>;
  readonly #patience = new PutOffTracker(Date.now);
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
    if (failure.code === RUN_CANCELED.code && run.task.lastFailure === RUN_TOO_LONG.code) {
      // we asked for that when its time was up, and counted it then
      return await this.#giveBack(run, { failures: 0, uncounted: true, waitMs: 0, forgetRun: run.isOver });
    }
    const isAway = await this.#isAway(run);
    return isAway || INTERRUPTED.has(failure.code)
      ? await this.#afterAbsence(run, isAway)
      : await this.#afterFailure(run);
  }

  /** Records a successful run: its engine and model are configured correctly. */
  succeeded({ task, request, beganAt }: Pick<FailedRun<Task>, 'task' | 'request' | 'beganAt'>): void {
    this.#dependencies.onRun?.(task.pool, 'ok', performance.now() - beganAt);
    this.#misconfigured.succeeded(task.pool, request.model);
  }

  /**
   * Returns whether the engine is away, and asks it if the failure leaves that open. An absent engine rests here before the task
   * goes back.
   */
  async #isAway({ task, failure }: FailedRun<Task>): Promise<boolean> {
    const { rests } = this.#dependencies;
    const isAway = ENGINE_AWAY.has(failure.code) || !(await rests.isReady(task.pool));
    if (isAway) {
      rests.begin(task.pool);
    }
    return isAway;
  }

  /** Handles an engine that went away. The task may be the cause, so runs that had begun are counted, with a generous limit. */
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

  /** Handles a request to wait, which is not a failure of the task. Its waits grow, so its deadline bounds how often that can happen. */
  async #putOff(run: FailedRun<Task>, retryAfterMs: number): Promise<AttemptOutcome> {
    const { task, isOver } = run;
    const putOffs = Math.max(0, task.attempt - 1 - task.failures - task.interruptions);
    const waitMs = Math.min(Math.max(retryAfterMs, backoffMs(putOffs)), PAUSE_MS_MAX);
    const returned = await this.#giveBack(run, { failures: 0, waitMs, forgetRun: isOver });
    const pausePoolMs = this.#patience.putOff(task.pool, task.accountId, waitMs);
    return { ...returned, ...(pausePoolMs !== undefined && { pausePoolMs }) };
  }

  /** Handles a lack of memory: another model may still occupy it. If it happens a second time, the task itself is too large. */
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
   * Handles a misconfigured engine: the order is not at fault, and another host may be configured correctly. If the engine refuses
   * every run, failures are not counted and the task waits until it is fixed; a refusal of this task alone is counted.
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
    // a run that is not forgotten is polled again, and reports its cost again
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
  return failure.said === undefined ? undefined : redactForOperators(failure.said, request.prompt);
}

/** Returns the run for the settlement that ends its task. */
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

/** Distinguishes a busy pool from an account that causes its refusals, by the number of accounts whose tasks were put off. */
export class PutOffTracker {
  readonly #now: () => number;
  /** By pool and account: until when a task was put off, in Unix ms. */
  readonly #pools = new Map<string, LruMap<string, number>>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Records that a task was put off for `waitMs`. Returns the ms for which the whole pool should rest; undefined when it should not. */
  putOff(pool: string, accountId: string, waitMs: number): number | undefined {
    const accounts = this.#pools.get(pool) ?? new LruMap<string, number>(ACCOUNTS_MAX);
    this.#pools.set(pool, accounts);
    const now = this.#now();
    accounts.set(accountId, Math.max(accounts.get(accountId) ?? 0, now + waitMs));
    const waiting = accounts.values().filter((until) => until > now).length;
    return waiting < ACCOUNTS_MIN ? undefined : waitMs;
  }
}

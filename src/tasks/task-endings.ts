import type { Charge, Ledger, ProviderAttempt, Settlement, TaskOutput } from '../ledger/ledger.types.ts';
import type { Clock } from '../lib/clock.ts';
import { type NanoUsd, ZERO_USD } from '../lib/money.ts';
import { NO_USAGE } from '../lib/usage.ts';
import { statesBefore, type TaskState } from './task-state.ts';

/** What is kept of an ended task. */
export interface EndingPolicy {
  /** Ms for which the files are kept. */
  readonly mediaTtlMs: number;
  readonly keepPrompts: boolean;
}

/** The task to end. */
export interface EndingTask {
  readonly id: string;
  readonly accountId: string;
  readonly apiKeyId: string;
  readonly createdAt: Date;
}

export interface EndingFence {
  /** Null takes the task from its current holder (cancel of a waiting task, deadline). */
  readonly attempt: number | null;
  readonly from: readonly TaskState[];
}

export interface EngineRun {
  readonly engineId: string;
  readonly model: string;
  readonly outcome: string;
  readonly latencyMs: number;
  /** The upstream's words about its failure, for operators: without keys and prompts. */
  readonly said?: string | undefined;
  /** What the engine's operator bills us, in nano-USD, if known. */
  readonly cost: NanoUsd | null;
}

export type EndingOutcome = 'settled' | 'closed' | 'fenced';

const NOTHING: Charge = { amount: ZERO_USD, lines: {} };
const ERROR_MESSAGE_CHARACTERS_MAX = 500;

/** Ends tasks: state, outputs, webhook row and charge in one transaction of the ledger. */
export class TaskEndings {
  readonly #ledger: Pick<Ledger, 'settle'>;
  readonly #policy: EndingPolicy;
  readonly #clock: Clock;

  constructor(ledger: Pick<Ledger, 'settle'>, policy: EndingPolicy, clock: Clock) {
    this.#clock = clock;
    this.#ledger = ledger;
    this.#policy = policy;
  }

  /** Charges for a finished task and makes its files readable. */
  async succeed(
    task: EndingTask,
    fence: EndingFence,
    charge: Charge,
    outputs: readonly TaskOutput[],
    run: EngineRun | null,
  ): Promise<EndingOutcome> {
    return await this.#settle(task, fence, 'completed', { charge, outputs, run, error: null });
  }

  /** Ends a task without a charge. */
  async fail(
    task: EndingTask,
    fence: EndingFence,
    error: { code: string; message: string },
    run: EngineRun | null = null,
  ): Promise<EndingOutcome> {
    const message = error.message.slice(0, ERROR_MESSAGE_CHARACTERS_MAX);
    return await this.#settle(task, fence, 'failed', {
      charge: NOTHING,
      outputs: [],
      run,
      error: { code: error.code, message },
    });
  }

  /** Ends a canceled task without a charge. */
  async cancel(task: EndingTask, fence: EndingFence, run: EngineRun | null = null): Promise<EndingOutcome> {
    const error = { code: 'task_canceled', message: 'canceled by client' };
    return await this.#settle(task, fence, 'cancelled', { charge: NOTHING, outputs: [], run, error });
  }

  async #settle(
    task: EndingTask,
    fence: EndingFence,
    status: Settlement['status'],
    ending: {
      charge: Charge;
      outputs: readonly TaskOutput[];
      run: EngineRun | null;
      error: { code: string; message: string } | null;
    },
  ): Promise<EndingOutcome> {
    const result = await this.#ledger.settle({
      holdId: task.id,
      accountId: task.accountId,
      apiKeyId: task.apiKeyId,
      status,
      charge: ending.charge,
      beyondMaxCost: ZERO_USD,
      usage: NO_USAGE,
      usageSource: 'none',
      error: ending.error,
      provider: ending.run?.engineId ?? null,
      providerCost: ending.run?.cost ?? null,
      attempts: ending.run ? [toAttempt(ending.run)] : [],
      finishReason: null,
      latencyMs: Math.max(0, this.#clock.now() - task.createdAt.getTime()),
      firstTokenMs: null,
      streamed: false,
      task: {
        attempt: fence.attempt,
        from: fence.from,
        outputs: ending.outputs,
        mediaTtlMs: this.#policy.mediaTtlMs,
        keepParameters: this.#policy.keepPrompts,
      },
    });
    return result.outcome;
  }
}

/** Returns the fence of an ending that takes the task from its current holder. */
export function fromAnywhere(ending: 'failed' | 'canceled'): EndingFence {
  return { attempt: null, from: statesBefore(ending) };
}

/** Returns the run as the generation stores it. */
export function toAttempt(run: EngineRun): ProviderAttempt {
  return {
    provider: run.engineId,
    model: run.model,
    outcome: run.outcome,
    latencyMs: run.latencyMs,
    ...(run.said === undefined ? {} : { said: run.said }),
    ...(run.cost === null ? {} : { cost: run.cost.toString() }),
  };
}

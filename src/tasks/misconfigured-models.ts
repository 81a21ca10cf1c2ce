/** Consecutive runs that an engine refuses because of its own settings before it counts as refusing everything. */
const RUNS_MIN = 3;
/** Ms after which a past success says nothing about the present: then the runs of one account are enough. */
const PROVEN_MS = 60_000;
const REST_FIRST_MS = 5_000;
const REST_MAX_MS = 60_000;

interface Refusals {
  runs: number;
  rests: number;
  readonly accounts: Set<string>;
}

export interface Verdict {
  /** Whether the model cannot be made here until an operator fixes something; its runs do not fail a task then. */
  readonly isBroken: boolean;
  /** Ms for which the whole pool should rest; undefined when it should not. */
  readonly restMs: number | undefined;
}

/**
 * Distinguishes an engine that an operator must fix from one that refuses what a single account asks for, by the outcomes of
 * consecutive runs. Keeps an entry for each model that is currently refused.
 */
export class MisconfiguredModels {
  readonly #now: () => number;
  readonly #refused = new Map<string, Refusals>();
  /** Time of the last success by pool, in Unix ms. */
  readonly #succeededAt = new Map<string, number>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Records that a run was refused because of the operator's settings. `model` is the engine's name for the model. */
  refused(pool: string, model: string, accountId: string): Verdict {
    const key = keyOf(pool, model);
    const refusals = this.#refused.get(key) ?? { runs: 0, rests: 0, accounts: new Set<string>() };
    this.#refused.set(key, refusals);
    refusals.runs += 1;
    if (refusals.accounts.size < RUNS_MIN) {
      refusals.accounts.add(accountId);
    }
    const isProven = this.#now() - (this.#succeededAt.get(pool) ?? Number.NEGATIVE_INFINITY) < PROVEN_MS;
    const isBroken = refusals.runs >= RUNS_MIN && (!isProven || refusals.accounts.size > 1);
    if (!isBroken || isProven) {
      return { isBroken, restMs: undefined };
    }
    const restMs = Math.min(REST_FIRST_MS * 2 ** refusals.rests, REST_MAX_MS);
    refusals.rests += 1;
    return { isBroken, restMs };
  }

  /** Records that a run of the model succeeded, which cancels earlier refusals. */
  succeeded(pool: string, model: string): void {
    this.#succeededAt.set(pool, this.#now());
    this.#refused.delete(keyOf(pool, model));
  }
}

function keyOf(pool: string, model: string): string {
  return `${pool}\n${model}`;
}

/** Runs in a row that an engine refuses for its own settings before it is believed to refuse everything. */
const RUNS_MIN = 3;
/** Ms after which a success of the past tells nothing of now: then one account's runs are enough. */
const PROVEN_MS = 60_000;
const REST_FIRST_MS = 5_000;
const REST_MAX_MS = 60_000;

interface Refusals {
  runs: number;
  rests: number;
  readonly accounts: Set<string>;
}

export interface Verdict {
  /** Whether the model cannot be made here until an operator mends something: no run of it fails a task then. */
  readonly isBroken: boolean;
  /** Ms for which the whole pool should rest; undefined where it makes something else. */
  readonly restMs: number | undefined;
}

/**
 * Tells an engine that an operator must mend from one that refuses what a single account asks for, by what its runs in a row end with.
 * It remembers an entry for each model that is refused just now.
 */
export class MisconfiguredModels {
  readonly #now: () => number;
  readonly #refused = new Map<string, Refusals>();
  /** By pool, in Unix ms. */
  readonly #succeededAt = new Map<string, number>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** A run was refused for what the operator has set up. `model`: the engine's name of it. */
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

  /** A run of the model succeeded: what was refused before says nothing any more. */
  succeeded(pool: string, model: string): void {
    this.#succeededAt.set(pool, this.#now());
    this.#refused.delete(keyOf(pool, model));
  }
}

function keyOf(pool: string, model: string): string {
  return `${pool}\n${model}`;
}

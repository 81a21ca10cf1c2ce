import {
  addTaken,
  admitOnLease,
  isPressing,
  noteTold,
  nothingTaken,
  type RateCounter,
  type Taken,
  takenBy,
} from './rate-leases.ts';
import {
  type PerScope,
  RATE_SCOPES,
  type RateDecision,
  type RateLimits,
  type RateState,
} from './rate-policy.ts';
import type { RateQuestion } from './rate-store.types.ts';

/** Maximum number of calls of each kind in a batch: a script blocks all of Redis, and this many take half a millisecond (measured). */
const BATCH_MAX = 64;

/** A call that asks Redis whether it may begin. */
export interface Asking {
  readonly question: RateQuestion;
  readonly resolve: (decision: RateDecision) => void;
  readonly reject: (error: Error) => void;
}

/** A call that gives its place back. */
interface Ending {
  readonly callId: string;
  readonly resolve: () => void;
}

/** What one command tells and asks Redis. */
export interface Told {
  readonly asking: readonly Asking[];
  readonly ending: readonly Ending[];
  /** Ids of calls that took a place on a lease and still have it. */
  readonly begun: readonly string[];
  readonly taken: PerScope<Taken>;
}

/** What Redis must be told about the calls of an API key. */
export class KeyBatch {
  readonly keyId: string;
  readonly accountId: string;
  /** Whether a command is waiting for its answer. */
  isUnderWay = false;
  /** Sends the batch if no call asks first. */
  later: NodeJS.Timeout | undefined;
  readonly #counters: PerScope<RateCounter>;
  #limits: PerScope<RateLimits>;
  #asking: Asking[] = [];
  #ending: Ending[] = [];
  readonly #begun = new Set<string>();
  #taken: PerScope<Taken> = { key: nothingTaken(), account: nothingTaken() };

  constructor({ keyId, accountId, limits }: RateQuestion, counters: PerScope<RateCounter>) {
    this.keyId = keyId;
    this.accountId = accountId;
    this.#counters = counters;
    this.#limits = limits;
  }

  get isEmpty(): boolean {
    const isNothingTaken = RATE_SCOPES.every(
      (scope) => this.#taken[scope].requestsUs === 0 && this.#taken[scope].tokensUs === 0,
    );
    return isNothingTaken && this.#asking.length === 0 && this.#ending.length === 0 && this.#begun.size === 0;
  }

  /** Whether Redis should be told at once. */
  get isPressing(): boolean {
    return (
      this.#asking.length > 0 ||
      this.#ending.length >= BATCH_MAX ||
      this.#begun.size >= BATCH_MAX ||
      RATE_SCOPES.some((scope) => isPressing(this.#counters[scope], this.#limits[scope]))
    );
  }

  /** Admits a call on the lease of this process; undefined when it has to {@link ask}. */
  begin({ callId, limits, cost }: RateQuestion): RateDecision | undefined {
    this.#limits = limits;
    const decision = admitOnLease(this.#counters, limits, cost);
    if (decision === undefined) {
      return undefined;
    }
    this.#take(1, cost.tokens, cost.concurrent ? 1 : 0);
    if (cost.concurrent) {
      this.#begun.add(callId);
    }
    return decision;
  }

  ask(asking: Asking): void {
    this.#asking.push(asking);
  }

  /** Calls `resolve` when the place is free. */
  end({ callId, limits, cost }: RateQuestion, tokensDelta: number, resolve: () => void): void {
    this.#limits = limits;
    this.#take(0, tokensDelta, cost.concurrent ? -1 : 0);
    // Redis never learns of a place that was taken on a lease and given back before it was told
    if (!cost.concurrent || this.#begun.delete(callId)) {
      resolve();
    } else {
      this.#ending.push({ callId, resolve });
    }
  }

  /** Removes and returns what the next command tells. */
  next(): Told {
    const asking = this.#asking.splice(0, BATCH_MAX);
    const ending = this.#ending.splice(0, BATCH_MAX);
    const begun = [...this.#begun].slice(0, BATCH_MAX);
    for (const callId of begun) {
      this.#begun.delete(callId);
    }
    const taken = this.#taken;
    this.#taken = { key: nothingTaken(), account: nothingTaken() };
    for (const scope of RATE_SCOPES) {
      taken[scope].inFlight = begun.length - ending.length;
    }
    return { asking, ending, begun, taken };
  }

  answered(told: Told, states: PerScope<RateState>): void {
    for (const scope of RATE_SCOPES) {
      noteTold(this.#counters[scope], told.taken[scope], states[scope]);
    }
  }

  /** Rejects the calls that were asked for, and those that arrived meanwhile: they have waited too, and would meet the same Redis. */
  failed(told: Told, error: Error): void {
    for (const scope of RATE_SCOPES) {
      noteTold(this.#counters[scope], told.taken[scope], undefined);
    }
    for (const { reject } of [...told.asking, ...this.#asking.splice(0)]) {
      reject(error);
    }
  }

  #take(requests: number, tokens: number, places: number): void {
    for (const scope of RATE_SCOPES) {
      const taken = takenBy(requests, tokens, places, this.#limits[scope]);
      addTaken(this.#taken[scope], taken);
      addTaken(this.#counters[scope].ahead, taken);
    }
  }
}

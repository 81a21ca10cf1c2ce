import type { Clock } from '../../lib/clock.ts';
import { LruMap } from '../../lib/lru-map.ts';
import type { PerScope, RateDecision, RateState } from './rate-policy.ts';
import { decide, RATE_SCOPES, tokensDebtUs } from './rate-policy.ts';
import type { RateQuestion, RateStore } from './rate-store.types.ts';

interface Counter {
  readonly atMs: number;
  readonly state: RateState;
}

const COUNTERS_MAX = 20_000;

/** Applies the policy within one process: used while Redis is unavailable, and in tests. */
export class MemoryRateStore implements RateStore {
  readonly #clock: Clock;
  readonly #counters = new LruMap<string, Counter>(COUNTERS_MAX);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async take(question: RateQuestion): Promise<RateDecision> {
    const names = namesOf(question);
    const states = { key: this.#current(names.key), account: this.#current(names.account) };
    const decision = decide(states, question.limits, question.cost);
    for (const scope of RATE_SCOPES) {
      this.#counters.set(names[scope], { atMs: this.#clock.now(), state: decision.states[scope] });
    }
    return decision;
  }

  async finish(question: RateQuestion, tokensDelta: number): Promise<void> {
    const names = namesOf(question);
    for (const scope of RATE_SCOPES) {
      const state = this.#current(names[scope]);
      const tokensUs = state.tokensUs + tokensDebtUs(tokensDelta, question.limits[scope]);
      const inFlight = state.inFlight - (question.cost.concurrent ? 1 : 0);
      this.#counters.set(names[scope], {
        atMs: this.#clock.now(),
        state: { ...state, tokensUs: Math.max(0, tokensUs), inFlight: Math.max(0, inFlight) },
      });
    }
  }

  close(): void {}

  #current(name: string): RateState {
    const counter = this.#counters.get(name);
    if (!counter) {
      return { requestsUs: 0, tokensUs: 0, inFlight: 0 };
    }
    const passedUs = Math.max(0, this.#clock.now() - counter.atMs) * 1000;
    return {
      requestsUs: Math.max(0, counter.state.requestsUs - passedUs),
      tokensUs: Math.max(0, counter.state.tokensUs - passedUs),
      inFlight: counter.state.inFlight,
    };
  }
}

function namesOf({ keyId, accountId }: RateQuestion): PerScope<string> {
  return { key: `key:${keyId}`, account: `account:${accountId}` };
}

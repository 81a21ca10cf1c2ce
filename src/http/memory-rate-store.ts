import type { Clock } from '../lib/clock.ts';
import { LruMap } from '../lib/lru-map.ts';
import type { RateDecision, RateState } from './rate-policy.ts';
import { decide, WINDOW_US } from './rate-policy.ts';
import type { RateQuestion, RateStore } from './rate-store.types.ts';

interface Counter {
  readonly atMs: number;
  readonly state: RateState;
}

const KEYS_MAX = 20_000;

/** The policy within one process: what stands in while Redis is away, and what a test uses. */
export class MemoryRateStore implements RateStore {
  readonly #clock: Clock;
  readonly #counters = new LruMap<string, Counter>(KEYS_MAX);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async take(question: RateQuestion): Promise<RateDecision> {
    const decision = decide(this.#current(question.keyId), question.limits, question.cost);
    this.#counters.set(question.keyId, { atMs: this.#clock.now(), state: decision.state });
    return decision;
  }

  async finish(question: RateQuestion, tokensDelta: number): Promise<void> {
    const state = this.#current(question.keyId);
    const tokensUs = state.tokensUs + (tokensDelta * WINDOW_US) / question.limits.tokensPerMinute;
    const inFlight = state.inFlight - (question.cost.concurrent ? 1 : 0);
    this.#counters.set(question.keyId, {
      atMs: this.#clock.now(),
      state: { ...state, tokensUs: Math.max(0, tokensUs), inFlight: Math.max(0, inFlight) },
    });
  }

  close(): void {}

  #current(keyId: string): RateState {
    const counter = this.#counters.get(keyId);
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

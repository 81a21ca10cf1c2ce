import type { PerScope, RateCost, RateDecision, RateLimits } from './rate-policy.ts';

export interface RateQuestion {
  readonly keyId: string;
  readonly accountId: string;
  /** Identifies the call among the concurrent ones. */
  readonly callId: string;
  readonly limits: PerScope<RateLimits>;
  readonly cost: RateCost;
}

/** Stores the counters of all keys and accounts. */
export interface RateStore {
  /** Decides and, if the call is admitted, consumes, in one step. */
  take(question: RateQuestion): Promise<RateDecision>;
  /** Frees the concurrent place and books the difference between actual and estimated tokens. Never rejects. */
  finish(question: RateQuestion, tokensDelta: number): Promise<void>;
  close(): void;
}

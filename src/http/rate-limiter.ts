import { AppError } from '../lib/errors.ts';
import { newUuid } from '../lib/ids.ts';
import type { RateDecision, RateLimits } from './rate-policy.ts';
import { rateHeaders } from './rate-policy.ts';
import type { RateQuestion, RateStore } from './rate-store.types.ts';

export interface RateCall {
  readonly keyId: string;
  /** Takes a concurrent place until {@link RateTicket.finish}. */
  readonly concurrent: boolean;
  /** Of the body, as declared; what the tokens are estimated from. */
  readonly bodyBytes: number;
}

/** An admitted call. */
export interface RateTicket {
  /** Corrects the estimate to what was really used. */
  reportTokens(tokens: number): void;
  /** To be called once, when the response has ended. Never throws. */
  finish(): void;
}

const BYTES_PER_TOKEN = 4;

/** Admits calls by the limits in force, which may change while the process runs. */
export class RateLimiter {
  readonly #store: RateStore;
  readonly #limits: () => RateLimits;

  constructor(store: RateStore, limits: () => RateLimits) {
    this.#store = store;
    this.#limits = limits;
  }

  /**
   * Admits a call or throws AppError rate_limit_exceeded | concurrency_limit_exceeded with the seconds to wait.
   * `setHeaders` gets the `x-ratelimit-*` headers in either case.
   */
  async admit(call: RateCall, setHeaders: (headers: Record<string, string>) => void): Promise<RateTicket> {
    const limits = this.#limits();
    const tokens = call.concurrent ? estimate(call.bodyBytes, limits) : 0;
    const question: RateQuestion = {
      keyId: call.keyId,
      callId: newUuid(),
      limits,
      cost: { tokens, concurrent: call.concurrent },
    };
    const decision = await this.#store.take(question);
    setHeaders(rateHeaders(decision.state, limits));
    if (decision.refused !== null) {
      throw refusal(decision);
    }
    return this.#ticket(question);
  }

  #ticket(question: RateQuestion): RateTicket {
    let delta = 0;
    return {
      reportTokens: (used) => {
        delta = used - question.cost.tokens;
      },
      finish: () => {
        if (question.cost.concurrent || delta !== 0) {
          void this.#store.finish(question, delta);
        }
      },
    };
  }
}

/** A tenth of the minute at most: a body of base64 images has far more bytes per token than text. */
function estimate(bodyBytes: number, limits: RateLimits): number {
  return Math.min(Math.ceil(bodyBytes / BYTES_PER_TOKEN), Math.floor(limits.tokensPerMinute / 10));
}

function refusal(decision: RateDecision): AppError {
  const retryAfterSeconds = Math.max(1, Math.ceil(decision.waitUs / 1_000_000));
  if (decision.refused === 'concurrency') {
    return new AppError('concurrency_limit_exceeded', 'too many calls of this key are in flight', {
      retryAfterSeconds,
    });
  }
  return new AppError('rate_limit_exceeded', `the key's limit of ${decision.refused} per minute is used up`, {
    retryAfterSeconds,
  });
}

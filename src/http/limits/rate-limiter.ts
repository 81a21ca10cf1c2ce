import { AppError } from '../../lib/errors.ts';
import { newUuid } from '../../lib/ids.ts';
import { ConcurrencyQueue } from './concurrency-queue.ts';
import {
  type OwnRateLimits,
  type RateDecision,
  type RateLimits,
  rateHeaders,
  tightened,
} from './rate-policy.ts';
import type { RateQuestion, RateStore } from './rate-store.types.ts';

export interface RateCall {
  readonly keyId: string;
  readonly accountId: string;
  /** Limits of the key and of its account where they differ from the configured ones. */
  readonly own: OwnRateLimits;
  /** How many times its requests per minute the account may make; 1 if left out. The key may make them once. */
  readonly accountShares?: number;
  /** Whether the call takes a concurrent place until {@link RateTicket.finish}. */
  readonly concurrent: boolean;
  /** Declared size of the body in bytes, from which the tokens are estimated. */
  readonly bodyBytes: number;
  /** Returns whether the client has left. */
  readonly isGone: () => boolean;
}

/** An admitted call. */
export interface RateTicket {
  /** Replaces the estimate with the tokens that were actually used, also after {@link finish}. */
  reportTokens(tokens: number): void;
  /** Must be called once, when the response has ended and no call goes on without its client. Never throws. */
  finish(): void;
}

const BYTES_PER_TOKEN = 4;

/** Admits calls by the limits in force, which may change while the process runs. */
export class RateLimiter {
  readonly #store: RateStore;
  readonly #limits: () => RateLimits;
  readonly #line: ConcurrencyQueue;

  constructor(store: RateStore, limits: () => RateLimits, line = new ConcurrencyQueue()) {
    this.#store = store;
    this.#limits = limits;
    this.#line = line;
  }

  /**
   * Admits a call. A call beyond its concurrency limit waits for a place. Throws AppError rate_limit_exceeded or
   * concurrency_limit_exceeded with the seconds to wait. In either case `setHeaders` gets the `x-ratelimit-*` headers of the key or of
   * its account, whichever has less left.
   */
  async admit(call: RateCall, setHeaders: (headers: Record<string, string>) => void): Promise<RateTicket> {
    const { keyId, accountId, own, accountShares = 1 } = call;
    const limits = { ...this.#limits(), ...own.account };
    const key = tightened(limits, own.key ?? {});
    const account = { ...limits, requestsPerMinute: limits.requestsPerMinute * accountShares };
    const tokens = call.concurrent ? estimate(call.bodyBytes, key) : 0;
    const question: RateQuestion = {
      keyId,
      accountId,
      callId: newUuid(),
      limits: { key, account },
      cost: { tokens, concurrent: call.concurrent },
    };
    const decision = await this.#decide(question, call);
    setHeaders(rateHeaders(decision.states, question.limits));
    if (decision.refused === 'concurrency') {
      throw noPlace(decision, this.#line.retryAfterSeconds(accountId));
    }
    if (decision.refused !== null) {
      throw refusal(decision);
    }
    return this.#ticket(question);
  }

  async #decide(question: RateQuestion, { concurrent, isGone }: RateCall): Promise<RateDecision> {
    const { keyId, accountId } = question;
    const take = () => this.#store.take(question);
    if (!concurrent) {
      return await take();
    }
    const decision = this.#line.hasWaiting(keyId) ? undefined : await take();
    if (decision && decision.refused !== 'concurrency') {
      return decision;
    }
    return (await this.#line.wait({ keyId, accountId, take, isGone })) ?? (await take());
  }

  #ticket(question: RateQuestion): RateTicket {
    let delta = 0;
    let isFinished = false;
    const ended = question.cost.concurrent ? this.#line.began(question.accountId) : () => undefined;
    return {
      reportTokens: (used) => {
        const more = used - question.cost.tokens - delta;
        delta += more;
        if (isFinished && more !== 0) {
          // the client left, and the call went on: its place was given back, but what it used counts, too
          void this.#store.finish({ ...question, cost: { ...question.cost, concurrent: false } }, more);
        }
      },
      finish: () => {
        isFinished = true;
        if (question.cost.concurrent || delta !== 0) {
          void this.#store.finish(question, delta).then(ended);
        }
      },
    };
  }
}

/**
 * Estimates the tokens of a body, at most a tenth of the limit per minute: a body of base64 images has far more bytes per token than
 * text.
 */
function estimate(bodyBytes: number, limits: RateLimits): number {
  return Math.min(Math.ceil(bodyBytes / BYTES_PER_TOKEN), Math.floor(limits.tokensPerMinute / 10));
}

function refusal({ refused, scope, waitUs }: RateDecision): AppError {
  return new AppError('rate_limit_exceeded', `the ${scope}'s limit of ${refused} per minute is used up`, {
    retryAfterSeconds: Math.max(1, Math.ceil(waitUs / 1_000_000)),
  });
}

function noPlace({ scope }: RateDecision, retryAfterSeconds: number): AppError {
  return new AppError('concurrency_limit_exceeded', `too many calls of this ${scope} are in flight`, {
    retryAfterSeconds,
  });
}

import { LruMap } from '../../lib/lru-map.ts';
import {
  decide,
  type PerScope,
  RATE_SCOPES,
  type RateCost,
  type RateDecision,
  type RateLimits,
  type RateState,
  requestDebtUs,
  tokensDebtUs,
  WINDOW_US,
} from './rate-policy.ts';

/** A process admits calls for at most this part of a limit before Redis knows of them. */
const LEASE_PART = 1 / 32;
/** How long an answer of Redis is good for, in ms. */
const FRESH_MS = 1_000;
/** Maximum number of keys and accounts remembered. */
const COUNTERS_MAX = 20_000;

/** What calls take from a limit; negative for what they give back. */
export interface Taken {
  requestsUs: number;
  tokensUs: number;
  inFlight: number;
}

/** What this process knows of the use of a key or an account. */
export interface RateCounter {
  /** As of the last answer of Redis; undefined before the first one and after a failure. */
  known: RateState | undefined;
  /** When that answer came, in ms of the monotonic clock. */
  knownAtMs: number;
  /** What calls of this process have taken and given back, as far as that answer does not include it. */
  readonly ahead: Taken;
}

/** The counters of the keys and accounts that this process serves. */
export class RateCounters {
  readonly #counters = new LruMap<string, RateCounter>(COUNTERS_MAX);

  of(keyId: string, accountId: string): PerScope<RateCounter> {
    return { key: this.#counter(keyId), account: this.#counter(accountId) };
  }

  #counter(id: string): RateCounter {
    const found = this.#counters.get(id);
    if (found) {
      return found;
    }
    const counter: RateCounter = { known: undefined, knownAtMs: 0, ahead: nothingTaken() };
    this.#counters.set(id, counter);
    return counter;
  }
}

/**
 * Admits a call without asking Redis while its key and its account have used less than half of their limits and this process has a lease
 * left: a 32nd of each limit, which is renewed when Redis has been told. So all processes together admit no more than a limit and one lease
 * each, and a limit below 32 is exact. Returns undefined when Redis has to decide. The caller counts what the call takes.
 */
export function admitOnLease(
  counters: PerScope<RateCounter>,
  limits: PerScope<RateLimits>,
  cost: RateCost,
): RateDecision | undefined {
  const nowMs = performance.now();
  const key = stateNow(counters.key, nowMs);
  const account = stateNow(counters.account, nowMs);
  if (key === undefined || account === undefined) {
    return undefined;
  }
  const decision = decide({ key, account }, limits, cost);
  const isAdmitted = RATE_SCOPES.every((scope) => {
    const state = decision.states[scope];
    const isFar = state.requestsUs <= WINDOW_US / 2 && !isHalfTaken(state, limits[scope]);
    const taken = takenBy(1, cost.tokens, cost.concurrent ? 1 : 0, limits[scope]);
    return isFar && fits(counters[scope].ahead, taken, limits[scope]);
  });
  return decision.refused === null && isAdmitted ? decision : undefined;
}

/** Returns what these take from a limit; negative tokens and places are given back. */
export function takenBy(requests: number, tokens: number, places: number, limits: RateLimits): Taken {
  return {
    requestsUs: requests * requestDebtUs(limits),
    tokensUs: tokensDebtUs(tokens, limits),
    inFlight: places,
  };
}

export function nothingTaken(): Taken {
  return { requestsUs: 0, tokensUs: 0, inFlight: 0 };
}

export function addTaken(to: Taken, { requestsUs, tokensUs, inFlight }: Taken): void {
  to.requestsUs += requestsUs;
  to.tokensUs += tokensUs;
  to.inFlight += inFlight;
}

/** Notes that Redis has been told, and its answer; undefined when it failed. */
export function noteTold(counter: RateCounter, told: Taken, answer: RateState | undefined): void {
  counter.known = answer;
  counter.knownAtMs = performance.now();
  counter.ahead.requestsUs -= told.requestsUs;
  counter.ahead.tokensUs -= told.tokensUs;
  counter.ahead.inFlight -= told.inFlight;
}

/** Whether Redis should be told at once: calls may be waiting for what has been given back, or half of a lease is used. */
export function isPressing({ known, ahead }: RateCounter, limits: RateLimits): boolean {
  return (known !== undefined && isHalfTaken(known, limits)) || !fits(ahead, ahead, limits);
}

/** Whether a lease covers what calls have taken and what comes on top. */
function fits(ahead: Taken, more: Taken, { concurrency }: RateLimits): boolean {
  return (
    ahead.requestsUs + more.requestsUs <= WINDOW_US * LEASE_PART &&
    ahead.tokensUs + more.tokensUs <= WINDOW_US * LEASE_PART &&
    ahead.inFlight + more.inFlight <= concurrency * LEASE_PART
  );
}

/** Whether more than half is taken of what calls give back when they end. */
function isHalfTaken({ tokensUs, inFlight }: RateState, { concurrency }: RateLimits): boolean {
  return tokensUs > WINDOW_US / 2 || inFlight > concurrency / 2;
}

function stateNow({ known, knownAtMs, ahead }: RateCounter, nowMs: number): RateState | undefined {
  const ageMs = nowMs - knownAtMs;
  if (known === undefined || ageMs > FRESH_MS) {
    return undefined;
  }
  const paidOffUs = ageMs * 1_000;
  return {
    requestsUs: Math.max(0, known.requestsUs - paidOffUs) + Math.max(0, ahead.requestsUs),
    tokensUs: Math.max(0, known.tokensUs - paidOffUs + ahead.tokensUs),
    inFlight: Math.max(0, known.inFlight + ahead.inFlight),
  };
}

/** Limits of one key, or of all keys of an account together. Every replica enforces the same ones. */
export interface RateLimits {
  readonly requestsPerMinute: number;
  readonly tokensPerMinute: number;
  /** Paid calls in flight at the same time. */
  readonly concurrency: number;
}

/** Limits set for a key and its account. Absent ones are as configured. */
export interface OwnRateLimits {
  readonly key: Partial<RateLimits> | null;
  readonly account: Partial<RateLimits> | null;
}

/** Calls count toward their key and toward its account. */
export type RateScope = 'key' | 'account';

export const RATE_SCOPES = ['key', 'account'] as const satisfies readonly RateScope[];

/** One value for the key, one for its account. */
export type PerScope<T> = Readonly<Record<RateScope, T>>;

/** How much of each limit is used up. A debt of 60 s means that the minute is used up; the debt is paid off as time passes. */
export interface RateState {
  /** Microseconds of debt. */
  readonly requestsUs: number;
  readonly tokensUs: number;
  readonly inFlight: number;
}

export interface RateCost {
  /** Estimated tokens of the call. */
  readonly tokens: number;
  /** Whether the call takes one of the concurrent places. */
  readonly concurrent: boolean;
}

export type RateDimension = 'requests' | 'tokens' | 'concurrency';

export interface RateDecision {
  /** The first exhausted dimension; null = admitted. */
  readonly refused: RateDimension | null;
  /** The scope whose dimension is exhausted. */
  readonly scope: RateScope;
  /** The states after the decision. Unchanged when refused: a rejected call consumes nothing. */
  readonly states: PerScope<RateState>;
  /** Microseconds until the call would be admitted; 0 when admitted. */
  readonly waitUs: number;
}

export const WINDOW_US = 60_000_000;

/** Suggested wait when all places are taken, in µs: nobody knows when one is freed. */
const CONCURRENCY_WAIT_US = 1_000_000;

/** Returns the debt of one request, in µs. */
export function requestDebtUs({ requestsPerMinute }: RateLimits): number {
  return WINDOW_US / requestsPerMinute;
}

/** Returns the debt of tokens, in µs; negative for tokens that are given back. */
export function tokensDebtUs(tokens: number, { tokensPerMinute }: RateLimits): number {
  return (tokens * WINDOW_US) / tokensPerMinute;
}

/** Returns the lower of each pair of limits. */
export function tightened(limits: RateLimits, own: Partial<RateLimits>): RateLimits {
  const { requestsPerMinute, tokensPerMinute, concurrency } = { ...limits, ...own };
  return {
    requestsPerMinute: Math.min(limits.requestsPerMinute, requestsPerMinute),
    tokensPerMinute: Math.min(limits.tokensPerMinute, tokensPerMinute),
    concurrency: Math.min(limits.concurrency, concurrency),
  };
}

/**
 * Applies GCRA to requests and tokens and a cap to concurrency, for the key and for its account. All are checked before any is consumed.
 * The Lua script beside this file is the same policy, and a test checks that the two agree.
 */
export function decide(
  states: PerScope<RateState>,
  limits: PerScope<RateLimits>,
  cost: RateCost,
): RateDecision {
  const key = decideOne(states.key, limits.key, cost);
  if (key.refused !== null) {
    return { refused: key.refused, scope: 'key', states, waitUs: key.waitUs };
  }
  const account = decideOne(states.account, limits.account, cost);
  if (account.refused !== null) {
    return { refused: account.refused, scope: 'account', states, waitUs: account.waitUs };
  }
  return { refused: null, scope: 'account', states: { key: key.state, account: account.state }, waitUs: 0 };
}

function decideOne(
  state: RateState,
  limits: RateLimits,
  cost: RateCost,
): { readonly refused: RateDimension | null; readonly state: RateState; readonly waitUs: number } {
  const requestsUs = state.requestsUs + requestDebtUs(limits);
  const tokensUs = state.tokensUs + tokensDebtUs(cost.tokens, limits);
  if (requestsUs > WINDOW_US) {
    return { refused: 'requests', state, waitUs: Math.ceil(requestsUs - WINDOW_US) };
  }
  if (tokensUs > WINDOW_US) {
    return { refused: 'tokens', state, waitUs: Math.ceil(tokensUs - WINDOW_US) };
  }
  if (cost.concurrent && state.inFlight >= limits.concurrency) {
    return { refused: 'concurrency', state, waitUs: CONCURRENCY_WAIT_US };
  }
  const inFlight = state.inFlight + (cost.concurrent ? 1 : 0);
  return { refused: null, state: { requestsUs, tokensUs, inFlight }, waitUs: 0 };
}

/** Returns the `x-ratelimit-*` headers. Each dimension describes the key or the account, whichever has less left. */
export function rateHeaders(
  states: PerScope<RateState>,
  limits: PerScope<RateLimits>,
): Record<string, string> {
  const requests = tighter(
    allowance(states.key.requestsUs, limits.key.requestsPerMinute),
    allowance(states.account.requestsUs, limits.account.requestsPerMinute),
  );
  const tokens = tighter(
    allowance(states.key.tokensUs, limits.key.tokensPerMinute),
    allowance(states.account.tokensUs, limits.account.tokensPerMinute),
  );
  return {
    'x-ratelimit-limit-requests': String(requests.limit),
    'x-ratelimit-remaining-requests': String(requests.remaining),
    'x-ratelimit-reset-requests': duration(requests.debtUs),
    'x-ratelimit-limit-tokens': String(tokens.limit),
    'x-ratelimit-remaining-tokens': String(tokens.remaining),
    'x-ratelimit-reset-tokens': duration(tokens.debtUs),
  };
}

interface Allowance {
  readonly limit: number;
  readonly remaining: number;
  readonly debtUs: number;
}

function allowance(debtUs: number, limit: number): Allowance {
  return { limit, remaining: remaining(debtUs, limit), debtUs };
}

function tighter(key: Allowance, account: Allowance): Allowance {
  return key.remaining <= account.remaining ? key : account;
}

function remaining(debtUs: number, perMinute: number): number {
  return Math.max(0, Math.floor(((WINDOW_US - debtUs) * perMinute) / WINDOW_US + 1e-6));
}

/** Formats the time until the limit is fully restored as OpenAI's clients read it: "120ms", "7s", "1m30s". */
function duration(us: number): string {
  const ms = Math.ceil(us / 1000);
  if (ms < 1000) {
    return `${Math.max(0, ms)}ms`;
  }
  const seconds = Math.ceil(ms / 1000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}

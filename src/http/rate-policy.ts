/** What one key may do; every replica enforces the same. */
export interface RateLimits {
  readonly requestsPerMinute: number;
  readonly tokensPerMinute: number;
  /** Paid calls in flight at the same time. */
  readonly concurrency: number;
}

/** How much of each allowance is used up. A debt of 60 s is an empty minute; it is paid off as time passes. */
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
  /** The state after the decision: unchanged when refused, so a refused call consumes nothing. */
  readonly state: RateState;
  /** Microseconds until the call would be admitted; 0 when admitted. */
  readonly waitUs: number;
}

export const WINDOW_US = 60_000_000;

/** What to suggest when all places are taken: nobody knows when one is freed. */
const CONCURRENCY_WAIT_US = 1_000_000;

/**
 * GCRA over requests and tokens and a cap on concurrency; all are checked before any is consumed.
 * The Lua script beside it is the same policy, and a test holds the two together.
 */
export function decide(state: RateState, limits: RateLimits, cost: RateCost): RateDecision {
  const requestsUs = state.requestsUs + WINDOW_US / limits.requestsPerMinute;
  const tokensUs = state.tokensUs + (cost.tokens * WINDOW_US) / limits.tokensPerMinute;
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

/** The `x-ratelimit-*` headers that describe a state. */
export function rateHeaders(state: RateState, limits: RateLimits): Record<string, string> {
  return {
    'x-ratelimit-limit-requests': String(limits.requestsPerMinute),
    'x-ratelimit-remaining-requests': String(remaining(state.requestsUs, limits.requestsPerMinute)),
    'x-ratelimit-reset-requests': duration(state.requestsUs),
    'x-ratelimit-limit-tokens': String(limits.tokensPerMinute),
    'x-ratelimit-remaining-tokens': String(remaining(state.tokensUs, limits.tokensPerMinute)),
    'x-ratelimit-reset-tokens': duration(state.tokensUs),
  };
}

function remaining(debtUs: number, perMinute: number): number {
  return Math.max(0, Math.floor(((WINDOW_US - debtUs) * perMinute) / WINDOW_US + 1e-6));
}

/** Time until the allowance is whole again, as OpenAI's clients read it: "120ms", "7s", "1m30s". */
function duration(us: number): string {
  const ms = Math.ceil(us / 1000);
  if (ms < 1000) {
    return `${Math.max(0, ms)}ms`;
  }
  const seconds = Math.ceil(ms / 1000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}

import type { Clock } from '../lib/clock.ts';
import { LruMap } from '../lib/lru-map.ts';
import { CALLS_MIN, CircuitBreaker, FAILURE_SHARE } from './circuit-breaker.ts';
import { ProviderFailure } from './provider-failure.ts';

/** Minimum accounts that must have the same problem before it counts as the route's rather than theirs. */
const ACCOUNTS_MIN = 3;
/** Maximum accounts whose outcomes are remembered per route: the most recent callers. */
const ACCOUNTS_MAX = 500;
/** Longest pause granted to a provider that asks for one, in ms. */
const COOLDOWN_MAX_MS = 60_000;
/** How long the account that failed last leaves the next probe of a paused route to others, in ms. */
const STANDS_BACK_MS = 3_000;

/**
 * The health of one provider's model as its callers see it. A call may fail because of its request, so failures of one account pause the
 * route for that account only. The route is paused for all when several accounts see the same failures, or when a failure cannot be an
 * account's doing: the request was never sent, or a probe failed.
 */
export class RouteHealth {
  readonly #clock: Clock;
  readonly #route: CircuitBreaker;
  #accounts = new LruMap<string, CircuitBreaker>(ACCOUNTS_MAX);
  #failedLast: string | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#route = new CircuitBreaker(clock);
  }

  /** Returns why the account must not call the route now; undefined if it may. `alone`: its model has no other route. */
  refusal(accountId: string, alone: boolean): ProviderFailure | undefined {
    // the account's circuit first: an account with its own problem must not use up the probes that reopen the route for all
    const account = this.#accounts.get(accountId);
    if (account && !account.admits(alone)) {
      return refusalBy(account);
    }
    const standsBackMs = accountId === this.#failedLast ? STANDS_BACK_MS : 0;
    return this.#route.admits(alone, standsBackMs) ? undefined : refusalBy(this.#route);
  }

  /** Why the route is paused for all accounts; undefined if it is not. */
  get rests(): 'open' | 'cooling' | undefined {
    if (this.#route.cooling()) {
      return 'cooling';
    }
    return this.#route.isOpen ? 'open' : undefined;
  }

  success(accountId: string): void {
    if (this.#route.isOpen) {
      // accounts that failed along with the route start fresh with it
      this.#accounts = new LruMap(ACCOUNTS_MAX);
    }
    this.#route.success();
    this.#account(accountId).success();
  }

  /** Records a failed call. Returns true if the account's circuit has just opened: the provider should then be probed. */
  failure(accountId: string, failure: ProviderFailure): boolean {
    const account = this.#account(accountId);
    const wasOpen = account.isOpen;
    switch (failure.policy.health) {
      case 'failure':
        this.#failedLast = accountId;
        account.failure();
        if (this.#route.isOpen || failure.unsent) {
          this.#route.failure();
        } else if (this.#isFailingForSeveral()) {
          this.#route.open();
        }
        break;
      case 'cooldown':
        this.#coolDown(account, Math.min(failure.retryAfterMs ?? 0, COOLDOWN_MAX_MS));
        break;
      case 'neutral':
        break;
    }
    return account.isOpen && !wasOpen && !this.#route.isOpen;
  }

  /** Records a failed probe, which cannot be any account's doing. */
  probeFailed(): void {
    this.#route.open();
  }

  #coolDown(account: CircuitBreaker, ms: number): void {
    account.coolDown(ms);
    const cooling = this.#accounts.values().filter((circuit) => circuit.cooling());
    if (cooling.length >= ACCOUNTS_MIN) {
      this.#route.coolDown(ms);
    }
  }

  #isFailingForSeveral(): boolean {
    const seen = this.#accounts
      .values()
      .map((circuit) => circuit.totals())
      .filter(({ calls }) => calls > 0);
    const failing = seen.filter(({ calls, failures }) => failures >= calls * FAILURE_SHARE).length;
    const calls = seen.reduce((sum, totals) => sum + totals.calls, 0);
    return calls >= CALLS_MIN && failing >= ACCOUNTS_MIN && failing >= seen.length * FAILURE_SHARE;
  }

  #account(accountId: string): CircuitBreaker {
    const known = this.#accounts.get(accountId);
    const circuit = known ?? new CircuitBreaker(this.#clock);
    if (!known) {
      this.#accounts.set(accountId, circuit);
    }
    return circuit;
  }
}

function refusalBy(circuit: CircuitBreaker): ProviderFailure {
  const reason = circuit.cooling() ? 'rate_limited' : 'circuit_open';
  return new ProviderFailure(reason, { retryAfterMs: circuit.retryAfterMs() });
}

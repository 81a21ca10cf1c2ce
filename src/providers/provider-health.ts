import type { Clock } from '../lib/clock.ts';
import { LruMap } from '../lib/lru-map.ts';
import type { ProviderFailure } from './provider-failure.ts';
import { RetryBudget } from './retry-budget.ts';
import { RouteHealth } from './route-health.ts';

/** A provider's model as called by one account. */
export interface RouteUse {
  readonly provider: string;
  readonly model: string;
  readonly accountId: string;
}

/** A route that this process has paused for all accounts. */
export interface PausedRoute {
  readonly provider: string;
  readonly model: string;
  /** `open`: it fails; `cooling`: the provider asked for a pause. */
  readonly state: 'open' | 'cooling';
}

/** Maximum number of retry budgets kept. */
const BUDGETS_MAX = 10_000;

/**
 * This process's view of its providers: the health of each provider's models, and a retry budget for each account's calls to a
 * provider. Entries are created on first use; the catalog bounds the number of routes.
 */
export class ProviderHealth {
  readonly #clock: Clock;
  readonly #routes = new Map<string, RouteHealth>();
  readonly #budgets = new LruMap<string, RetryBudget>(BUDGETS_MAX);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns why a call must not be made now; undefined if it may. `alone`: its model has no other route. */
  refusal(use: RouteUse, alone: boolean): ProviderFailure | undefined {
    return this.#route(use).refusal(use.accountId, alone);
  }

  reportSuccess(use: RouteUse): void {
    this.#route(use).success(use.accountId);
  }

  /** Records a failed call. Returns true when only a probe can tell whether the provider fails or the account makes it fail. */
  report(use: RouteUse, failure: ProviderFailure): boolean {
    return this.#route(use).failure(use.accountId, failure);
  }

  /** Records a failed probe. */
  reportFailedProbe(use: RouteUse): void {
    this.#route(use).probeFailed();
  }

  /** Counts an invocation that calls the provider. */
  countCall(use: RouteUse): void {
    this.#budget(use).countCall();
  }

  takeRetry(use: RouteUse): boolean {
    return this.#budget(use).takeRetry();
  }

  /** Returns the routes paused for all accounts. */
  resting(): PausedRoute[] {
    return [...this.#routes].flatMap(([key, health]) => {
      const [provider = '', model = ''] = key.split('\n');
      return health.rests === undefined ? [] : [{ provider, model, state: health.rests }];
    });
  }

  #route({ provider, model }: RouteUse): RouteHealth {
    return entry(this.#routes, `${provider}\n${model}`, () => new RouteHealth(this.#clock));
  }

  #budget({ provider, accountId }: RouteUse): RetryBudget {
    return entry(this.#budgets, `${provider}\n${accountId}`, () => new RetryBudget(this.#clock));
  }
}

function entry<T>(
  map: { get(key: string): T | undefined; set(key: string, value: T): unknown },
  key: string,
  create: () => T,
): T {
  let value = map.get(key);
  if (value === undefined) {
    value = create();
    map.set(key, value);
  }
  return value;
}

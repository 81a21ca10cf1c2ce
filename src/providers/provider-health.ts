import type { Clock } from '../lib/clock.ts';
import { LruMap } from '../lib/lru-map.ts';
import type { ProviderFailure } from './provider-failure.ts';
import { RetryBudget } from './retry-budget.ts';
import { RouteHealth } from './route-health.ts';

/** A provider's model, as one account calls it. */
export interface RouteUse {
  readonly provider: string;
  readonly model: string;
  readonly accountId: string;
}

/** A route that this process does not call now, for all accounts. */
export interface RestingRoute {
  readonly provider: string;
  readonly model: string;
  /** `open`: it fails; `cooling`: the provider asked for a pause. */
  readonly state: 'open' | 'cooling';
}

/** Accounts whose retries are counted. */
const BUDGETS_MAX = 10_000;

/**
 * What this process knows of its providers' health: of each provider's models, and a retry budget for each account's calls of a
 * provider. Entries are made on first use; the catalog bounds how many routes there can be.
 */
export class ProviderHealth {
  readonly #clock: Clock;
  readonly #routes = new Map<string, RouteHealth>();
  readonly #budgets = new LruMap<string, RetryBudget>(BUDGETS_MAX);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Why a call must not be made now; undefined when it may. `alone`: its model has no other route. */
  refusal(use: RouteUse, alone: boolean): ProviderFailure | undefined {
    return this.#route(use).refusal(use.accountId, alone);
  }

  reportSuccess(use: RouteUse): void {
    this.#route(use).success(use.accountId);
  }

  /** True when only a call of our own can tell whether the provider fails or the account makes it fail. */
  report(use: RouteUse, failure: ProviderFailure): boolean {
    return this.#route(use).failure(use.accountId, failure);
  }

  /** A call of our own failed. */
  reportFailedProbe(use: RouteUse): void {
    this.#route(use).probeFailed();
  }

  /** Counts an invocation that asks the provider. */
  countCall(use: RouteUse): void {
    this.#budget(use).countCall();
  }

  takeRetry(use: RouteUse): boolean {
    return this.#budget(use).takeRetry();
  }

  /** Routes that rest for all accounts. */
  resting(): RestingRoute[] {
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

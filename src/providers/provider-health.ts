import type { Clock } from '../lib/clock.ts';
import { CircuitBreaker } from './circuit-breaker.ts';
import { ProviderFailure } from './provider-failure.ts';
import { RetryBudget } from './retry-budget.ts';

/** A provider cannot talk us into leaving it alone for longer than this, in ms. */
const COOLDOWN_MAX_MS = 60_000;

/**
 * What this process knows of its providers' health: a circuit per provider and model, a retry budget per provider.
 * Entries are made on first use; the catalog bounds how many there can be.
 */
export class ProviderHealth {
  readonly #clock: Clock;
  readonly #breakers = new Map<string, CircuitBreaker>();
  readonly #budgets = new Map<string, RetryBudget>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Why a call must not be made now; undefined when it may. */
  refusal(provider: string, model: string): ProviderFailure | undefined {
    const breaker = this.#breaker(provider, model);
    if (breaker.admits()) {
      return undefined;
    }
    return new ProviderFailure(breaker.cooling() ? 'rate_limited' : 'circuit_open', {
      retryAfterMs: breaker.retryAfterMs(),
    });
  }

  reportSuccess(provider: string, model: string): void {
    this.#breaker(provider, model).success();
  }

  report(provider: string, model: string, failure: ProviderFailure): void {
    const breaker = this.#breaker(provider, model);
    switch (failure.policy.health) {
      case 'failure':
        breaker.failure();
        break;
      case 'cooldown':
        breaker.coolDown(Math.min(failure.retryAfterMs ?? 0, COOLDOWN_MAX_MS));
        break;
      case 'neutral':
        break;
    }
  }

  /** Counts an invocation that asks the provider. */
  countCall(provider: string): void {
    this.#budget(provider).countCall();
  }

  takeRetry(provider: string): boolean {
    return this.#budget(provider).takeRetry();
  }

  #breaker(provider: string, model: string): CircuitBreaker {
    return entry(this.#breakers, `${provider}\n${model}`, () => new CircuitBreaker(this.#clock));
  }

  #budget(provider: string): RetryBudget {
    return entry(this.#budgets, provider, () => new RetryBudget(this.#clock));
  }
}

function entry<T>(map: Map<string, T>, key: string, create: () => T): T {
  let value = map.get(key);
  if (value === undefined) {
    value = create();
    map.set(key, value);
  }
  return value;
}

import type { ProviderAttempt } from '../ledger/ledger.types.ts';
import type { Clock } from '../lib/clock.ts';
import { pause } from '../lib/pause.ts';
import { StopController, type StopSignal } from '../lib/stop-signal.ts';
import { RETRY_AFTER_HONOURED_MS, retryPauseMs } from '../providers/backoff.ts';
import type { Provider } from '../providers/provider.types.ts';
import { ProviderFailure } from '../providers/provider-failure.ts';
import type { ProviderHealth, RouteUse } from '../providers/provider-health.ts';
import type { ModelRoute } from './invocation.types.ts';

/** Calls to one provider within one invocation, the first included. */
const ATTEMPTS_PER_PROVIDER = 2;

/** Where providers are looked up by the id a route names. */
export interface ProviderSource {
  find(id: string): Provider | undefined;
}

export interface RoutedCall<T> {
  readonly accountId: string;
  readonly routes: readonly ModelRoute[];
  /** Whether another model is asked when all of them fail. */
  readonly hasFallback: boolean;
  /** Aborts when the call is no longer wanted. */
  readonly signal: StopSignal;
  /** Where attempts are noted, failed ones included. */
  readonly attempts: ProviderAttempt[];
  readonly call: (provider: Provider, route: ModelRoute) => Promise<T>;
}

/**
 * Gets one answer out of a list of routes: in order, each with at most one retry (full jitter, within the provider's
 * retry budget), skipping those whose circuit is open. Until an answer starts, nothing has reached the client.
 */
export class RouteRunner {
  readonly #providers: ProviderSource;
  readonly #health: ProviderHealth;
  readonly #clock: Clock;
  /** Providers that are being asked how they are. */
  readonly #probed = new Set<string>();

  constructor(providers: ProviderSource, health: ProviderHealth, clock: Clock) {
    this.#providers = providers;
    this.#health = health;
    this.#clock = clock;
  }

  /** The first answer. Throws {@link ProviderFailure}: of the last route tried, `aborted` when the call is given up. */
  async run<T>(run: RoutedCall<T>): Promise<T> {
    let failure: ProviderFailure | undefined;
    for (const route of run.routes) {
      const provider = this.#providers.find(route.provider);
      if (!provider) {
        run.attempts.push(attempted(route, 'not_configured', 0));
        continue;
      }
      const outcome = await this.#tryRoute(run, provider, route);
      if ('value' in outcome) {
        return outcome.value;
      }
      failure = outcome.failure;
      if (!failure.policy.fallback) {
        throw failure;
      }
    }
    throw failure ?? new ProviderFailure('misconfigured');
  }

  /** A stream that had started well broke off. */
  reportBroken(accountId: string, route: ModelRoute, failure: ProviderFailure): void {
    this.#report(useOf(accountId, route), failure);
  }

  async #tryRoute<T>(
    run: RoutedCall<T>,
    provider: Provider,
    route: ModelRoute,
  ): Promise<{ value: T } | { failure: ProviderFailure }> {
    const use = useOf(run.accountId, route);
    this.#health.countCall(use);
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await this.#attempt(run, provider, route);
      if ('value' in outcome) {
        return outcome;
      }
      const { failure } = outcome;
      const tooLong = (failure.retryAfterMs ?? 0) > RETRY_AFTER_HONOURED_MS;
      if (attempt === ATTEMPTS_PER_PROVIDER || !failure.policy.retry || tooLong) {
        return outcome;
      }
      if (!this.#health.takeRetry(use)) {
        return outcome;
      }
      await pause(retryPauseMs(attempt - 1, failure.retryAfterMs), run.signal);
    }
  }

  async #attempt<T>(
    run: RoutedCall<T>,
    provider: Provider,
    route: ModelRoute,
  ): Promise<{ value: T } | { failure: ProviderFailure }> {
    if (run.signal.aborted) {
      return { failure: new ProviderFailure('aborted') };
    }
    const use = useOf(run.accountId, route);
    const refusal = this.#health.refusal(use, run.routes.length === 1 && !run.hasFallback);
    if (refusal) {
      run.attempts.push(attempted(route, refusal.reason, 0));
      return { failure: refusal };
    }
    const startedAt = this.#clock.now();
    const note = (outcome: string, said?: string) =>
      run.attempts.push(attempted(route, outcome, this.#clock.now() - startedAt, said));
    try {
      const value = await run.call(provider, route);
      this.#health.reportSuccess(use);
      note('ok');
      return { value };
    } catch (error) {
      if (!(error instanceof ProviderFailure)) {
        note('error');
        throw error;
      }
      this.#report(use, error);
      note(error.reason, error.said);
      return { failure: error };
    }
  }

  #report(use: RouteUse, failure: ProviderFailure): void {
    const provider = this.#providers.find(use.provider);
    if (this.#health.report(use, failure) && provider && !this.#probed.has(use.provider)) {
      this.#probed.add(use.provider);
      void this.#probe(provider, use);
    }
  }

  /** Asks the provider how it is, at nobody's cost and for nobody's account. Ends by itself, with the provider at the latest. */
  async #probe(provider: Provider, use: RouteUse): Promise<void> {
    try {
      await provider.probe(new StopController());
    } catch {
      this.#health.reportFailedProbe(use);
    } finally {
      this.#probed.delete(use.provider);
    }
  }
}

function useOf(accountId: string, { provider, model }: ModelRoute): RouteUse {
  return { provider, model, accountId };
}

function attempted(route: ModelRoute, outcome: string, latencyMs: number, said = ''): ProviderAttempt {
  const { provider, model } = route;
  return { provider, model, outcome, latencyMs, ...(said === '' ? {} : { said }) };
}

import type { ProviderAttempt } from '../ledger/ledger.types.ts';
import type { Clock } from '../lib/clock.ts';
import { pause } from '../lib/pause.ts';
import { StopController, type StopSignal } from '../lib/stop-signal.ts';
import { RETRY_AFTER_HONOURED_MS, retryPauseMs } from '../providers/backoff.ts';
import type { Provider } from '../providers/provider.types.ts';
import { ProviderFailure } from '../providers/provider-failure.ts';
import type { ProviderHealth, RouteUse } from '../providers/provider-health.ts';
import type { ModelRoute } from './invocation.types.ts';

/** Maximum calls to one provider within one invocation, including the first. */
const ATTEMPTS_PER_PROVIDER = 2;

/** Looks up providers by the id in a route. */
export interface ProviderSource {
  find(id: string): Provider | undefined;
}

export interface RoutedCall<T> {
  readonly accountId: string;
  readonly routes: readonly ModelRoute[];
  /** Whether another model is tried when all of these routes fail. */
  readonly hasFallback: boolean;
  /** Aborts when the call is no longer wanted. */
  readonly signal: StopSignal;
  /** List that attempts are appended to, failed ones included. */
  readonly attempts: ProviderAttempt[];
  readonly call: (provider: Provider, route: ModelRoute) => Promise<T>;
}

/**
 * Gets one answer from a list of routes. Tries them in order, each with at most one retry (full jitter, within the provider's retry
 * budget), and skips routes whose circuit is open. Nothing reaches the client before an answer starts.
 */
export class RouteRunner {
  readonly #providers: ProviderSource;
  readonly #health: ProviderHealth;
  readonly #clock: Clock;
  /** Providers with a health probe in progress. */
  readonly #probed = new Set<string>();

  constructor(providers: ProviderSource, health: ProviderHealth, clock: Clock) {
    this.#providers = providers;
    this.#health = health;
    this.#clock = clock;
  }

  /** Returns the first answer. Throws the {@link ProviderFailure} of the last route tried, or `aborted` when the call is given up. */
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

  /** Reports that a stream broke off after a good start. */
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

  /** Probes the provider's health, at no cost and on behalf of no account. Ends by itself, at the latest when the provider does. */
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

import type { Clock } from '../lib/clock.ts';

export interface RetryBudgetSettings {
  readonly windowMs: number;
  /** Retries allowed per call in the window, 0 … 1. */
  readonly share: number;
  /** Retries always allowed per window, so that a caller with few calls can retry too. */
  readonly retriesMin: number;
}

export const DEFAULT_RETRY_BUDGET: RetryBudgetSettings = { windowMs: 10_000, share: 0.1, retriesMin: 3 };

/** Keeps retries from multiplying the load on a provider that is already in trouble. Uses fixed windows, per process. */
export class RetryBudget {
  readonly #clock: Clock;
  readonly #settings: RetryBudgetSettings;
  #window = -1;
  #calls = 0;
  #retries = 0;

  constructor(clock: Clock, settings: RetryBudgetSettings = DEFAULT_RETRY_BUDGET) {
    this.#clock = clock;
    this.#settings = settings;
  }

  /** Counts a first attempt. */
  countCall(): void {
    this.#roll();
    this.#calls += 1;
  }

  /** Takes one retry from the budget; returns false if it is used up. */
  takeRetry(): boolean {
    this.#roll();
    const allowed = Math.max(this.#settings.retriesMin, this.#calls * this.#settings.share);
    if (this.#retries + 1 > allowed) {
      return false;
    }
    this.#retries += 1;
    return true;
  }

  #roll(): void {
    const window = Math.floor(this.#clock.now() / this.#settings.windowMs);
    if (window !== this.#window) {
      this.#window = window;
      this.#calls = 0;
      this.#retries = 0;
    }
  }
}

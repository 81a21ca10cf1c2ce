import type { Clock } from '../lib/clock.ts';

export interface RetryBudgetSettings {
  readonly windowMs: number;
  /** Retries allowed per call in the window, 0 … 1. */
  readonly share: number;
  /** Retries always allowed per window, so that a caller with few calls can retry too. */
  readonly retriesMin: number;
}

export const DEFAULT_RETRY_BUDGET: RetryBudgetSettings = { windowMs: 10_000, share: 0.1, retriesMin: 3 };

/** Parts of a window: the oldest tenth of the calls is forgotten at a time. */
const SLOTS = 10;

interface Slot {
  /** Number of the part since 1970. */
  readonly at: number;
  calls: number;
  retries: number;
}

/**
 * Keeps retries from multiplying the load on a provider that is already in trouble. Counts per process, over a window that
 * slides: fixed windows would allow a burst across a border the minimum twice.
 */
export class RetryBudget {
  readonly #clock: Clock;
  readonly #settings: RetryBudgetSettings;
  #slots: Slot[] = [];

  constructor(clock: Clock, settings: RetryBudgetSettings = DEFAULT_RETRY_BUDGET) {
    this.#clock = clock;
    this.#settings = settings;
  }

  /** Counts a first attempt. */
  countCall(): void {
    this.#slot().calls += 1;
  }

  /** Takes one retry from the budget; returns false if it is used up. */
  takeRetry(): boolean {
    const slot = this.#slot();
    const sum = (of: 'calls' | 'retries') => this.#slots.reduce((total, each) => total + each[of], 0);
    const allowed = Math.max(this.#settings.retriesMin, sum('calls') * this.#settings.share);
    if (sum('retries') + 1 > allowed) {
      return false;
    }
    slot.retries += 1;
    return true;
  }

  /** Returns the present part of the window, and forgets parts outside it. */
  #slot(): Slot {
    const at = Math.floor((this.#clock.now() * SLOTS) / this.#settings.windowMs);
    const last = this.#slots.at(-1);
    if (last?.at === at) {
      return last;
    }
    const slot: Slot = { at, calls: 0, retries: 0 };
    // a clock that was set back must not keep parts of the future
    this.#slots = [...this.#slots.filter((each) => each.at > at - SLOTS && each.at < at), slot];
    return slot;
  }
}

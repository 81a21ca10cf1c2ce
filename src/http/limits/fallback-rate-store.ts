import type { Clock } from '../../lib/clock.ts';
import type { MemoryRateStore } from './memory-rate-store.ts';
import type { RateDecision, RateDimension } from './rate-policy.ts';
import type { RateQuestion, RateStore } from './rate-store.types.ts';
import type { RedisRateStore } from './redis-rate-store.ts';

/** Pause before the shared store is asked again after a failure, in ms, so that an outage costs one slow request per second. */
const PAUSE_MS = 1_000;
/** Consecutive misses that count as an outage, each asked after the one before: a busy moment of this process or of Redis is not one. */
const MISSES_MAX = 2;

/** Asks Redis, and decides within the process by the same policy when Redis is unavailable or slow. Never fails a request. */
export class FallbackRateStore implements RateStore {
  readonly #shared: RedisRateStore;
  readonly #local: MemoryRateStore;
  readonly #clock: Clock;
  readonly #onDecision: (store: 'shared' | 'local', refused: RateDimension | null) => void;
  readonly #locallyAdmitted = new Set<string>();
  #pausedUntilMs = 0;
  #misses = 0;
  #missedAtMs = 0;

  constructor(
    shared: RedisRateStore,
    local: MemoryRateStore,
    clock: Clock,
    onDecision: (store: 'shared' | 'local', refused: RateDimension | null) => void = () => undefined,
  ) {
    this.#shared = shared;
    this.#local = local;
    this.#clock = clock;
    this.#onDecision = onDecision;
  }

  async take(question: RateQuestion): Promise<RateDecision> {
    const askedAtMs = this.#clock.now();
    if (this.#shared.ready && askedAtMs >= this.#pausedUntilMs) {
      const decision = await this.#shared.take(question).catch(() => undefined);
      if (decision) {
        this.#misses = 0;
        this.#onDecision('shared', decision.refused);
        return decision;
      }
      this.#missed(askedAtMs);
    }
    const decision = await this.#local.take(question);
    this.#onDecision('local', decision.refused);
    if (decision.refused === null && question.cost.concurrent) {
      this.#locallyAdmitted.add(question.callId);
    }
    return decision;
  }

  async finish(question: RateQuestion, tokensDelta: number): Promise<void> {
    const store = this.#locallyAdmitted.delete(question.callId) ? this.#local : this.#shared;
    await store.finish(question, tokensDelta);
  }

  /** Counts a miss. Requests that waited together count once. After a pause, a single further miss starts the next pause. */
  #missed(askedAtMs: number): void {
    if (askedAtMs < this.#missedAtMs) {
      return;
    }
    this.#missedAtMs = this.#clock.now();
    this.#misses += 1;
    if (this.#misses >= MISSES_MAX) {
      this.#pausedUntilMs = this.#missedAtMs + PAUSE_MS;
    }
  }

  close(): void {
    this.#shared.close();
    this.#local.close();
  }
}

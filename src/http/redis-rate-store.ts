import type { Redis } from 'ioredis';
import { FINISH_SCRIPT, RENEW_SCRIPT, TAKE_SCRIPT } from './rate-limit.script.ts';
import type { RateDecision, RateDimension } from './rate-policy.ts';
import { WINDOW_US } from './rate-policy.ts';
import type { RateQuestion, RateStore } from './rate-store.types.ts';

/** How long a dead process's calls go on taking places. */
const LEASE_US = 90_000_000;
const RENEW_EVERY_MS = 30_000;

const REFUSALS: readonly (RateDimension | null)[] = [null, 'requests', 'tokens', 'concurrency'];

/** The command surface that the scripts add to a connection. */
interface RateCommands {
  tollgateRateTake(...args: (string | number)[]): Promise<number[]>;
  tollgateRateFinish(...args: (string | number)[]): Promise<number>;
  tollgateRateRenew(...args: (string | number)[]): Promise<number>;
}

/** The counters of all replicas, in Redis. Rejects when Redis does; the caller falls back. */
export class RedisRateStore implements RateStore {
  readonly #redis: Redis;
  readonly #commands: RateCommands;
  readonly #inFlight = new Map<string, string>();
  readonly #renewal: NodeJS.Timeout;

  constructor(redis: Redis) {
    this.#redis = redis;
    redis.defineCommand('tollgateRateTake', { numberOfKeys: 3, lua: TAKE_SCRIPT });
    redis.defineCommand('tollgateRateFinish', { numberOfKeys: 2, lua: FINISH_SCRIPT });
    redis.defineCommand('tollgateRateRenew', { numberOfKeys: 1, lua: RENEW_SCRIPT });
    this.#commands = redis as unknown as RateCommands;
    this.#renewal = setInterval(() => this.#renew(), RENEW_EVERY_MS).unref();
  }

  /** Whether a command would be answered now rather than wait for a connection. */
  get ready(): boolean {
    return this.#redis.status === 'ready';
  }

  async take(question: RateQuestion): Promise<RateDecision> {
    const { limits, cost } = question;
    const [refusal = 0, requestsUs = 0, tokensUs = 0, inFlight = 0, waitUs = 0] =
      await this.#commands.tollgateRateTake(
        ...keysOf(question.keyId),
        WINDOW_US / limits.requestsPerMinute,
        (cost.tokens * WINDOW_US) / limits.tokensPerMinute,
        WINDOW_US,
        cost.concurrent ? limits.concurrency : 0,
        LEASE_US,
        question.callId,
      );
    if (refusal === 0 && cost.concurrent) {
      this.#inFlight.set(question.callId, question.keyId);
    }
    return { refused: REFUSALS[refusal] ?? null, state: { requestsUs, tokensUs, inFlight }, waitUs };
  }

  async finish(question: RateQuestion, tokensDelta: number): Promise<void> {
    this.#inFlight.delete(question.callId);
    const [, tokens, calls] = keysOf(question.keyId);
    const deltaUs = Math.round((tokensDelta * WINDOW_US) / question.limits.tokensPerMinute);
    try {
      await this.#commands.tollgateRateFinish(tokens, calls, question.callId, deltaUs);
    } catch {
      // the lease ends by itself, and a lost correction is worth less than a failed request
    } finally {
      // a take that was given up on may have been answered just before this
      this.#inFlight.delete(question.callId);
    }
  }

  close(): void {
    clearInterval(this.#renewal);
  }

  #renew(): void {
    for (const [callId, keyId] of this.#inFlight) {
      this.#commands.tollgateRateRenew(keysOf(keyId)[2], callId, LEASE_US).catch(() => undefined);
    }
  }
}

/** One hash slot per key, so that the script also runs on a cluster. */
function keysOf(keyId: string): [requests: string, tokens: string, calls: string] {
  const base = `tollgate:rate:{${keyId}}`;
  return [`${base}:requests`, `${base}:tokens`, `${base}:calls`];
}

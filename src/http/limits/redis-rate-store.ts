import type { Redis } from 'ioredis';
import { FINISH_SCRIPT, RENEW_SCRIPT, TAKE_SCRIPT } from './rate-limit.script.ts';
import type {
  RateCost,
  RateDecision,
  RateDimension,
  RateLimits,
  RateScope,
  RateState,
} from './rate-policy.ts';
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
  readonly #prefix: string;
  readonly #commands: RateCommands;
  readonly #inFlight = new Map<string, RateQuestion>();
  readonly #renewal: NodeJS.Timeout;

  /** `prefix`: what every name in Redis begins with. */
  constructor(redis: Redis, prefix: string) {
    this.#redis = redis;
    this.#prefix = prefix;
    redis.defineCommand('tollgateRateTake', { numberOfKeys: 6, lua: TAKE_SCRIPT });
    redis.defineCommand('tollgateRateFinish', { numberOfKeys: 4, lua: FINISH_SCRIPT });
    redis.defineCommand('tollgateRateRenew', { numberOfKeys: 2, lua: RENEW_SCRIPT });
    this.#commands = redis as unknown as RateCommands;
    this.#renewal = setInterval(() => this.#renew(), RENEW_EVERY_MS).unref();
  }

  /** Whether a command would be answered now rather than wait for a connection. */
  get ready(): boolean {
    return this.#redis.status === 'ready';
  }

  async take(question: RateQuestion): Promise<RateDecision> {
    const { key, account } = question.limits;
    const [refusal = 0, scope = 2, waitUs = 0, ...debts] = await this.#commands.tollgateRateTake(
      ...this.#keysOf(question),
      WINDOW_US,
      LEASE_US,
      question.callId,
      ...costsOf(question.cost, key),
      ...costsOf(question.cost, account),
    );
    if (refusal === 0 && question.cost.concurrent) {
      this.#inFlight.set(question.callId, question);
    }
    return {
      refused: REFUSALS[refusal] ?? null,
      scope: scope === 1 ? 'key' : 'account',
      states: { key: stateOf(debts.slice(0, 3)), account: stateOf(debts.slice(3)) },
      waitUs,
    };
  }

  async finish(question: RateQuestion, tokensDelta: number): Promise<void> {
    this.#inFlight.delete(question.callId);
    const [, tokens, calls, , accountTokens, accountCalls] = this.#keysOf(question);
    const deltaUs = (scope: RateScope) =>
      Math.round((tokensDelta * WINDOW_US) / question.limits[scope].tokensPerMinute);
    try {
      await this.#commands.tollgateRateFinish(
        ...[tokens, calls, accountTokens, accountCalls],
        ...[question.callId, deltaUs('key'), deltaUs('account')],
      );
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
    for (const [callId, question] of this.#inFlight) {
      const [, , calls, , , accountCalls] = this.#keysOf(question);
      this.#commands.tollgateRateRenew(calls, accountCalls, callId, LEASE_US).catch(() => undefined);
    }
  }

  /** One hash slot per account, so that the script also runs on a cluster. */
  #keysOf({ accountId, keyId }: RateQuestion): readonly [...Keys, ...Keys] {
    const account = `${this.#prefix}:rate:{${accountId}}`;
    const key = `${account}:key:${keyId}`;
    return [
      ...([`${key}:requests`, `${key}:tokens`, `${key}:calls`] as const),
      ...([`${account}:requests`, `${account}:tokens`, `${account}:calls`] as const),
    ];
  }
}

type Keys = readonly [requests: string, tokens: string, calls: string];

function costsOf({ tokens, concurrent }: RateCost, limits: RateLimits): [number, number, number] {
  return [
    WINDOW_US / limits.requestsPerMinute,
    (tokens * WINDOW_US) / limits.tokensPerMinute,
    concurrent ? limits.concurrency : 0,
  ];
}

function stateOf([requestsUs = 0, tokensUs = 0, inFlight = 0]: readonly number[]): RateState {
  return { requestsUs, tokensUs, inFlight };
}

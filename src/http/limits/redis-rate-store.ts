import type { Redis } from 'ioredis';
import { withDeadline } from '../../lib/deadline.ts';
import { type Asking, KeyBatch, type Told } from './key-batch.ts';
import { RateCounters } from './rate-leases.ts';
import { BATCH_SCRIPT, RENEW_SCRIPT } from './rate-limit.script.ts';
import {
  RATE_SCOPES,
  type RateCost,
  type RateDecision,
  type RateDimension,
  type RateLimits,
  type RateState,
  requestDebtUs,
  tokensDebtUs,
  WINDOW_US,
} from './rate-policy.ts';
import type { RateQuestion, RateStore } from './rate-store.types.ts';

/** How long the calls of a dead process keep taking places, in µs. */
const LEASE_US = 90_000_000;
const RENEW_EVERY_MS = 30_000;
/** How long a batch may stay unanswered, in ms. */
const PATIENCE_MS = 100;
/** How long Redis may not know of a call that has begun or ended when no other call of its key asks, in ms. */
const TOLD_WITHIN_MS = 50;

const REFUSALS: readonly (RateDimension | null)[] = [null, 'requests', 'tokens', 'concurrency'];
/** Numbers that the script returns first, and then for each call that asks. */
const STATES_LENGTH = 6;
const DECISION_LENGTH = 9;

/** The commands that the scripts add to a connection. */
interface RateCommands {
  tollgateRateBatch(...args: (string | number)[]): Promise<number[]>;
  tollgateRateRenew(...args: (string | number)[]): Promise<number>;
}

/**
 * Keeps the counters of all replicas in Redis. Far from its limits, the calls of a key begin on a lease of this process (`rate-leases.ts`)
 * and Redis is told of all of them together. Other calls ask. While one waits for its answer, calls of its key gather and then go together.
 */
export class RedisRateStore implements RateStore {
  readonly #redis: Redis;
  readonly #prefix: string;
  readonly #commands: RateCommands;
  readonly #counters = new RateCounters();
  readonly #inFlight = new Map<string, RateQuestion>();
  readonly #batches = new Map<string, KeyBatch>();
  readonly #renewal: NodeJS.Timeout;
  #isClosed = false;

  /** `prefix` begins every name in Redis. */
  constructor(redis: Redis, prefix: string) {
    this.#redis = redis;
    this.#prefix = prefix;
    redis.defineCommand('tollgateRateBatch', { numberOfKeys: 6, lua: BATCH_SCRIPT });
    redis.defineCommand('tollgateRateRenew', { numberOfKeys: 2, lua: RENEW_SCRIPT });
    this.#commands = redis as unknown as RateCommands;
    this.#renewal = setInterval(() => this.#renew(), RENEW_EVERY_MS).unref();
  }

  /** Whether a command would be answered now instead of waiting for a connection. */
  get ready(): boolean {
    return this.#redis.status === 'ready';
  }

  /** Rejects when Redis fails or does not answer in time; the call then counts as if it had not asked. */
  take(question: RateQuestion): Promise<RateDecision> {
    const batch = this.#batchOf(question);
    const decision = batch.begin(question);
    if (decision === undefined) {
      return new Promise((resolve, reject) => {
        batch.ask({ question, resolve, reject });
        this.#send(batch);
      });
    }
    this.#noteBegun(question);
    this.#sendSoon(batch);
    return Promise.resolve(decision);
  }

  finish(question: RateQuestion, tokensDelta: number): Promise<void> {
    this.#inFlight.delete(question.callId);
    return new Promise((resolve) => {
      const batch = this.#batchOf(question);
      batch.end(question, tokensDelta, resolve);
      this.#sendSoon(batch);
    });
  }

  /** Sends everything that is still queued: an ended call that Redis is not told about would take a place until its lease ends. */
  close(): void {
    this.#isClosed = true;
    clearInterval(this.#renewal);
    for (const batch of this.#batches.values()) {
      this.#send(batch);
    }
  }

  #batchOf(question: RateQuestion): KeyBatch {
    const { keyId, accountId } = question;
    const found = this.#batches.get(keyId);
    if (found) {
      return found;
    }
    const batch = new KeyBatch(question, this.#counters.of(keyId, accountId));
    this.#batches.set(keyId, batch);
    return batch;
  }

  #noteBegun(question: RateQuestion): void {
    if (question.cost.concurrent) {
      this.#inFlight.set(question.callId, question);
    }
  }

  #send(batch: KeyBatch): void {
    if (batch.isUnderWay) {
      return;
    }
    clearTimeout(batch.later);
    batch.later = undefined;
    if (batch.isEmpty) {
      this.#batches.delete(batch.keyId);
      return;
    }
    batch.isUnderWay = true;
    void this.#tell(batch, batch.next()).then(() => {
      batch.isUnderWay = false;
      this.#sendSoon(batch);
    });
  }

  #sendSoon(batch: KeyBatch): void {
    if (batch.isPressing || batch.isEmpty || this.#isClosed) {
      this.#send(batch);
    } else if (batch.later === undefined && !batch.isUnderWay) {
      batch.later = setTimeout(() => this.#send(batch), TOLD_WITHIN_MS);
    }
  }

  async #tell(batch: KeyBatch, told: Told): Promise<void> {
    try {
      const answer = this.#run(batch, told);
      const numbers = await withDeadline(answer, PATIENCE_MS, () => {
        void answer.then((late) => this.#giveBack(told.asking, late)).catch(() => undefined);
        throw new Error(`Redis has not answered within ${PATIENCE_MS} ms`);
      });
      batch.answered(told, { key: stateAt(numbers, 0), account: stateAt(numbers, 3) });
      for (const [index, { question, resolve }] of told.asking.entries()) {
        const decision = decisionAt(numbers, index);
        if (decision.refused === null) {
          this.#noteBegun(question);
        }
        resolve(decision);
      }
    } catch (error) {
      batch.failed(told, error as Error);
    }
    // a lease that was not given back ends by itself, and losing a correction is better than failing a request
    for (const { resolve } of told.ending) {
      resolve();
    }
  }

  #run(batch: KeyBatch, { asking, ending, begun, taken }: Told): Promise<number[]> {
    const values: (string | number)[] = [...this.#keysOf(batch), WINDOW_US, LEASE_US];
    for (const scope of RATE_SCOPES) {
      values.push(taken[scope].requestsUs, taken[scope].tokensUs);
    }
    values.push(ending.length);
    for (const { callId } of ending) {
      values.push(callId);
    }
    values.push(begun.length, ...begun);
    for (const { question } of asking) {
      const { callId, cost, limits } = question;
      values.push(callId, ...costsOf(cost, limits.key), ...costsOf(cost, limits.account));
    }
    return this.#commands.tollgateRateBatch(...values);
  }

  /** Gives back what an answer that came too late has taken: those calls were decided elsewhere. */
  #giveBack(asking: readonly Asking[], numbers: readonly number[]): void {
    for (const [index, { question }] of asking.entries()) {
      if (decisionAt(numbers, index).refused === null) {
        void this.finish(question, -question.cost.tokens);
      }
    }
  }

  #renew(): void {
    for (const [callId, question] of this.#inFlight) {
      const [, , calls, , , accountCalls] = this.#keysOf(question);
      this.#commands.tollgateRateRenew(calls, accountCalls, callId, LEASE_US).catch(() => undefined);
    }
  }

  /** Returns the names of the counters, in one hash slot per account, so that the script also runs on a cluster. */
  #keysOf({ accountId, keyId }: Pick<RateQuestion, 'accountId' | 'keyId'>): readonly [...Keys, ...Keys] {
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
  return [requestDebtUs(limits), tokensDebtUs(tokens, limits), concurrent ? limits.concurrency : 0];
}

/** Returns what the script decided about the call at this index of its batch. */
function decisionAt(numbers: readonly number[], index: number): RateDecision {
  const at = STATES_LENGTH + index * DECISION_LENGTH;
  const [refusal = 0, scope = 2, waitUs = 0] = numbers.slice(at, at + 3);
  return {
    refused: REFUSALS[refusal] ?? null,
    scope: scope === 1 ? 'key' : 'account',
    states: { key: stateAt(numbers, at + 3), account: stateAt(numbers, at + 6) },
    waitUs,
  };
}

function stateAt(numbers: readonly number[], at: number): RateState {
  return {
    requestsUs: numbers[at] ?? 0,
    tokensUs: numbers[at + 1] ?? 0,
    inFlight: numbers[at + 2] ?? 0,
  };
}

import type { Redis } from 'ioredis';
import { withDeadline } from '../../lib/deadline.ts';
import { LruMap } from '../../lib/lru-map.ts';
import { BATCH_SCRIPT, RENEW_SCRIPT } from './rate-limit.script.ts';
import type { RateCost, RateDecision, RateDimension, RateLimits, RateState } from './rate-policy.ts';
import { WINDOW_US } from './rate-policy.ts';
import type { RateQuestion, RateStore } from './rate-store.types.ts';

/** How long the calls of a dead process keep taking places, in µs. */
const LEASE_US = 90_000_000;
const RENEW_EVERY_MS = 30_000;
/** How long a batch may stay unanswered, in ms. */
const PATIENCE_MS = 100;
/**
 * How long the end of a call may wait for the next call of its key to take it along, in ms. Most keys have few calls at a time, which
 * would otherwise cost two commands each. Only applies while at least half of what the call gives back is still free, so that no call is
 * rejected for lack of it.
 */
const TAKEN_ALONG_MS = 50;
/** Maximum number of keys and accounts remembered as being near a limit. */
const CROWDED_MAX = 10_000;
/** Maximum number of calls of each kind in a batch: a script blocks all of Redis, and this many take half a millisecond (measured). */
const BATCH_MAX = 64;

const REFUSALS: readonly (RateDimension | null)[] = [null, 'requests', 'tokens', 'concurrency'];
/** Numbers that the script returns per call. */
const ANSWER_LENGTH = 9;

/** The commands that the scripts add to a connection. */
interface RateCommands {
  tollgateRateBatch(...args: (string | number)[]): Promise<number[]>;
  tollgateRateRenew(...args: (string | number)[]): Promise<number>;
}

/** A call that wants to begin. */
interface Beginning {
  readonly question: RateQuestion;
  readonly resolve: (decision: RateDecision) => void;
  readonly reject: (error: Error) => void;
}

/** A call that has ended. */
interface Ending {
  readonly question: RateQuestion;
  readonly tokensDelta: number;
  readonly resolve: () => void;
}

/** Calls of one API key that Redis must be told about. */
interface KeyBatch {
  readonly keyId: string;
  beginning: Beginning[];
  ending: Ending[];
  underWay: boolean;
  /** Sends the calls that have ended if no call begins first. */
  later: NodeJS.Timeout | undefined;
}

/**
 * Keeps the counters of all replicas in Redis. A single call is sent at once. Until it is answered, other calls of its key gather and are
 * then sent together, so a busy key costs one command per round trip instead of two per call, and a quiet key one command per call.
 * Limits stay exact: nothing is taken in advance.
 */
export class RedisRateStore implements RateStore {
  readonly #redis: Redis;
  readonly #prefix: string;
  readonly #commands: RateCommands;
  readonly #inFlight = new Map<string, RateQuestion>();
  readonly #batches = new Map<string, KeyBatch>();
  /** Keys and accounts whose last call left them less than half of what an ended call gives back. */
  readonly #crowded = new LruMap<string, true>(CROWDED_MAX);
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
    return new Promise((resolve, reject) => {
      const batch = this.#batchOf(question.keyId);
      batch.beginning.push({ question, resolve, reject });
      this.#send(batch);
    });
  }

  finish(question: RateQuestion, tokensDelta: number): Promise<void> {
    this.#inFlight.delete(question.callId);
    return new Promise((resolve) => {
      const batch = this.#batchOf(question.keyId);
      batch.ending.push({ question, tokensDelta, resolve });
      this.#sendEnded(batch);
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

  #batchOf(keyId: string): KeyBatch {
    const known = this.#batches.get(keyId);
    if (known) {
      return known;
    }
    const batch: KeyBatch = { keyId, beginning: [], ending: [], underWay: false, later: undefined };
    this.#batches.set(keyId, batch);
    return batch;
  }

  #send(batch: KeyBatch): void {
    if (batch.underWay) {
      return;
    }
    clearTimeout(batch.later);
    batch.later = undefined;
    const beginning = batch.beginning.splice(0, BATCH_MAX);
    const ending = batch.ending.splice(0, BATCH_MAX);
    if (beginning.length === 0 && ending.length === 0) {
      this.#batches.delete(batch.keyId);
      return;
    }
    batch.underWay = true;
    void this.#ask(batch, beginning, ending).then(() => {
      batch.underWay = false;
      this.#sendEnded(batch);
    });
  }

  /** Sends a batch that may contain only ended calls: soon, or at once when a call may be waiting for what they free. */
  #sendEnded(batch: KeyBatch): void {
    const { beginning, ending, underWay, later } = batch;
    const [first] = ending;
    const isUrgent =
      first === undefined || ending.length >= BATCH_MAX || this.#isClosed || this.#isCrowded(first.question);
    if (underWay || beginning.length > 0 || isUrgent) {
      this.#send(batch);
    } else if (later === undefined) {
      batch.later = setTimeout(() => this.#send(batch), TAKEN_ALONG_MS);
    }
  }

  async #ask(batch: KeyBatch, beginning: readonly Beginning[], ending: readonly Ending[]): Promise<void> {
    try {
      const answer = this.#run(beginning, ending);
      const numbers = await withDeadline(answer, PATIENCE_MS, () => {
        void answer.then((late) => this.#giveBack(beginning, late)).catch(() => undefined);
        throw new Error(`Redis has not answered within ${PATIENCE_MS} ms`);
      });
      beginning.forEach(({ question, resolve }, index) => {
        const decision = decisionAt(numbers, index);
        this.#noteCrowd(question, decision);
        if (decision.refused === null && question.cost.concurrent) {
          this.#inFlight.set(question.callId, question);
        }
        resolve(decision);
      });
    } catch (error) {
      // calls that arrived meanwhile have waited too, and would meet the same Redis
      for (const { reject } of [...beginning, ...batch.beginning.splice(0)]) {
        reject(error as Error);
      }
    }
    // a lease that was not given back ends by itself, and losing a correction is better than failing a request
    for (const { resolve } of ending) {
      resolve();
    }
  }

  #isCrowded({ keyId, accountId }: RateQuestion): boolean {
    return this.#crowded.get(keyId) !== undefined || this.#crowded.get(accountId) !== undefined;
  }

  /**
   * Remembers whether the key and the account are near a limit. Calls without a place do not learn how many are taken, and for a rejected
   * call only the scope that rejected it is known.
   */
  #noteCrowd(
    { keyId, accountId, limits, cost }: RateQuestion,
    { refused, scope, states }: RateDecision,
  ): void {
    for (const [of, id] of [['key', keyId] as const, ['account', accountId] as const]) {
      if (cost.concurrent && (refused === null || scope === of)) {
        if (refused !== null || hasHalfUsed(states[of], limits[of])) {
          this.#crowded.set(id, true);
        } else {
          this.#crowded.delete(id);
        }
      }
    }
  }

  #run(beginning: readonly Beginning[], ending: readonly Ending[]): Promise<number[]> {
    const { question } = (beginning[0] ?? ending[0]) as Beginning | Ending;
    const values: (string | number)[] = [...this.#keysOf(question), WINDOW_US, LEASE_US, ending.length];
    for (const { question, tokensDelta } of ending) {
      const { key, account } = question.limits;
      values.push(question.callId, debtUs(tokensDelta, key), debtUs(tokensDelta, account));
    }
    for (const { question } of beginning) {
      const { callId, cost, limits } = question;
      values.push(callId, ...costsOf(cost, limits.key), ...costsOf(cost, limits.account));
    }
    return this.#commands.tollgateRateBatch(...values);
  }

  /** Gives back what an answer that came too late has taken: those calls were decided elsewhere. */
  #giveBack(beginning: readonly Beginning[], numbers: readonly number[]): void {
    beginning.forEach(({ question }, index) => {
      if (decisionAt(numbers, index).refused === null) {
        void this.finish(question, -question.cost.tokens);
      }
    });
  }

  #renew(): void {
    for (const [callId, question] of this.#inFlight) {
      const [, , calls, , , accountCalls] = this.#keysOf(question);
      this.#commands.tollgateRateRenew(calls, accountCalls, callId, LEASE_US).catch(() => undefined);
    }
  }

  /** Returns the names of the counters, in one hash slot per account, so that the script also runs on a cluster. */
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

function debtUs(tokens: number, limits: RateLimits): number {
  return Math.round((tokens * WINDOW_US) / limits.tokensPerMinute);
}

function costsOf({ tokens, concurrent }: RateCost, limits: RateLimits): [number, number, number] {
  return [
    WINDOW_US / limits.requestsPerMinute,
    (tokens * WINDOW_US) / limits.tokensPerMinute,
    concurrent ? limits.concurrency : 0,
  ];
}

/** Returns what the script decided about the call at this index of its batch. */
function decisionAt(numbers: readonly number[], index: number): RateDecision {
  const at = index * ANSWER_LENGTH;
  const [refusal = 0, scope = 2, waitUs = 0] = numbers.slice(at, at + 3);
  return {
    refused: REFUSALS[refusal] ?? null,
    scope: scope === 1 ? 'key' : 'account',
    states: { key: stateAt(numbers, at + 3), account: stateAt(numbers, at + 6) },
    waitUs,
  };
}

/** Returns whether more than half of what an ended call gives back is used. */
function hasHalfUsed({ tokensUs, inFlight }: RateState, { concurrency }: RateLimits): boolean {
  return tokensUs > WINDOW_US / 2 || inFlight > concurrency / 2;
}

function stateAt(numbers: readonly number[], at: number): RateState {
  return {
    requestsUs: numbers[at] ?? 0,
    tokensUs: numbers[at + 1] ?? 0,
    inFlight: numbers[at + 2] ?? 0,
  };
}

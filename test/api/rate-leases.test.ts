import { jest } from '@jest/globals';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { type RateDecision, type RateLimits, rateHeaders } from '../../src/http/limits/rate-policy.ts';
import type { RateQuestion } from '../../src/http/limits/rate-store.types.ts';
import { RedisRateStore } from '../../src/http/limits/redis-rate-store.ts';
import { newUuid } from '../../src/lib/ids.ts';
import { eventuallyHolds } from '../factories/eventually.ts';

/** Far from their limits, calls begin without asking Redis, and Redis is told of all of them together. */

const redis = new Redis(process.env.TEST_REDIS_URL ?? '', { enableOfflineQueue: false, lazyConnect: true });
const processes: RedisRateStore[] = [];

beforeAll(async () => {
  await redis.connect();
});

beforeEach(() => {
  processes.push(...Array.from({ length: 3 }, () => new RedisRateStore(redis, 'tollgate')));
});

afterEach(() => {
  jest.restoreAllMocks();
  for (const one of processes.splice(0)) {
    one.close();
  }
});

afterAll(() => redis.disconnect());

/** A lease is 20 requests, 100 tokens or 2 places. */
const LIMITS: RateLimits = { requestsPerMinute: 640, tokensPerMinute: 3_200, concurrency: 64 };
const LEASE_PART = 1 / 32;
/** The script rounds each sum up to a microsecond. */
const ROUNDED_UP_US = 1_000;

interface Caller {
  readonly keyId: string;
  readonly accountId: string;
}

function newCaller(): Caller {
  return { keyId: newUuid(), accountId: newUuid() };
}

function question(caller: Caller, tokens = 1, concurrent = true): RateQuestion {
  const { keyId, accountId } = caller;
  const limits = { key: LIMITS, account: LIMITS };
  return { keyId, accountId, callId: newUuid(), limits, cost: { tokens, concurrent } };
}

function commands() {
  return jest.spyOn(redis as unknown as { tollgateRateBatch(): Promise<number[]> }, 'tollgateRateBatch');
}

interface Step {
  readonly process: number;
  readonly kind: 'begin' | 'end';
  readonly tokens: number;
  readonly concurrent: boolean;
}

const step: fc.Arbitrary<Step> = fc.record({
  process: fc.nat(2),
  kind: fc.constantFrom('begin', 'begin', 'end'),
  tokens: fc.oneof(fc.nat(3), fc.nat(40)),
  concurrent: fc.boolean(),
});

/** What calls hold in truth, as a model without leases or Redis counts it. */
class Truth {
  requests = 0;
  tokens = 0;
  readonly running: { readonly call: RateQuestion; readonly store: RedisRateStore }[] = [];
  readonly #startedAt = performance.now();

  get elapsedMs(): number {
    return performance.now() - this.#startedAt;
  }

  get places(): number {
    return this.running.filter(({ call }) => call.cost.concurrent).length;
  }

  /** Throws when more is taken than a limit and a lease per process allow, with what was paid off meanwhile. */
  check(): void {
    const minutes = 1 + this.elapsedMs / 60_000;
    const leases = processes.length * LEASE_PART;
    expect(this.places).toBeLessThanOrEqual(LIMITS.concurrency * (1 + leases));
    expect(this.requests).toBeLessThanOrEqual(LIMITS.requestsPerMinute * (minutes + leases) + 1);
    expect(this.tokens).toBeLessThanOrEqual(LIMITS.tokensPerMinute * (minutes + leases) + 1);
  }
}

async function play(rounds: readonly (readonly Step[])[], isPatient: boolean): Promise<void> {
  const [caller, truth] = [newCaller(), new Truth()];
  const pending: Promise<unknown>[] = [];
  for (const round of rounds) {
    for (const { process, kind, tokens, concurrent } of round) {
      const store = processes[process] as RedisRateStore;
      if (kind === 'end') {
        const ended = truth.running.shift();
        if (ended) {
          // what a call turns out to have used may not exceed what it was estimated at, or the limit on tokens would be no limit
          const unused = Math.min(tokens, ended.call.cost.tokens);
          truth.tokens -= unused;
          pending.push(ended.store.finish(ended.call, -unused));
        }
        continue;
      }
      const call = question(caller, tokens, concurrent);
      const begun = store.take(call).then(({ refused }) => {
        if (refused === null) {
          truth.requests += 1;
          truth.tokens += tokens;
          truth.running.push({ call, store });
        }
      });
      pending.push(begun);
    }
    await (isPatient ? Promise.all(pending.splice(0)) : new Promise(setImmediate));
    truth.check();
  }
  await Promise.all(pending);
  truth.check();
  if (truth.requests < LIMITS.requestsPerMinute) {
    await eventuallyHolds(() => settled(caller, truth));
  }
}

/** Checks that Redis has learned all: no call, place or token is lost or counted twice. */
async function settled(caller: Caller, truth: Truth): Promise<void> {
  const { states } = await asked(caller);
  truth.requests += 1;
  const paidOffUs = truth.elapsedMs * 1_000;
  for (const { inFlight, requestsUs, tokensUs } of [states.key, states.account]) {
    expect(inFlight).toBe(truth.places);
    const requestedUs = (truth.requests * 60e6) / LIMITS.requestsPerMinute;
    const usedUs = (truth.tokens * 60e6) / LIMITS.tokensPerMinute;
    expect(requestsUs).toBeGreaterThanOrEqual(requestedUs - paidOffUs);
    expect(requestsUs).toBeLessThanOrEqual(requestedUs + ROUNDED_UP_US);
    expect(tokensUs).toBeGreaterThanOrEqual(usedUs - paidOffUs);
    expect(tokensUs).toBeLessThanOrEqual(usedUs + ROUNDED_UP_US);
  }
}

/** Lets a process that knows nothing yet ask Redis. Throws when there is no request left for that. */
async function asked(caller: Caller): Promise<RateDecision> {
  const store = new RedisRateStore(redis, 'tollgate');
  const decision = await store.take(question(caller, 0, false));
  store.close();
  expect(decision.refused).toBeNull();
  return decision;
}

test('processes together admit no more than a limit and a lease each, and Redis learns of every call', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(step, { maxLength: 120 }), { minLength: 1, maxLength: 12, size: 'max' }),
      fc.boolean(),
      play,
    ),
    { numRuns: 25 },
  );
});

test.each([
  ['requests', { tokens: 0, concurrent: false }, 20],
  ['tokens', { tokens: 25, concurrent: false }, 4],
  ['places', { tokens: 0, concurrent: true }, 2],
])('a process admits a lease of %s while Redis is silent, and asks for more', async (_, cost, lease) => {
  const [store] = processes as [RedisRateStore];
  const caller = newCaller();
  const call = () => question(caller, cost.tokens, cost.concurrent);
  await store.take(question(caller, 0, false));
  const silence = commands().mockImplementation(() => new Promise(() => undefined));
  const outcomes = await Promise.allSettled(Array.from({ length: lease + 3 }, () => store.take(call())));
  expect(outcomes.map(({ status }) => status)).toEqual([
    ...Array.from({ length: lease }, () => 'fulfilled'),
    ...Array.from({ length: 3 }, () => 'rejected'),
  ]);
  silence.mockRestore();
});

test('the calls that began on a lease count for those that ask in the same command', async () => {
  const [store] = processes as [RedisRateStore];
  const caller = newCaller();
  await store.take(question(caller, 0, false));
  const spy = commands();
  const decisions = await Promise.all(Array.from({ length: 9 }, () => store.take(question(caller))));
  expect(decisions.map(({ states }) => states.account.inFlight)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(spy.mock.calls.length).toBeLessThanOrEqual(2);
});

test.each([
  ['requests', () => Array.from({ length: 330 }, () => ({ tokens: 0, concurrent: false }))],
  ['tokens', () => [{ tokens: 1_700, concurrent: false }]],
  ['places', () => Array.from({ length: 33 }, () => ({ tokens: 0, concurrent: true }))],
])('a key that has used half of its %s asks for every call', async (_, costs) => {
  const [store] = processes as [RedisRateStore];
  const caller = newCaller();
  const taken = costs();
  await Promise.all(taken.map((cost) => store.take(question(caller, cost.tokens, cost.concurrent))));
  await eventuallyHolds(async () => {
    const { states } = await asked(caller);
    expect(states.account.inFlight).toBe(taken.filter(({ concurrent }) => concurrent).length);
  });
  const spy = commands();
  for (let call = 1; call <= 5; call += 1) {
    await store.take(question(caller, 0, false));
    expect(spy).toHaveBeenCalledTimes(call);
  }
});

test('a client that calls in turn asks Redis once and is counted call by call', async () => {
  const [store] = processes as [RedisRateStore];
  const spy = commands();
  const caller = newCaller();
  const remaining: number[] = [];
  for (let call = 0; call < 10; call += 1) {
    const own = question(caller);
    const { states } = await store.take(own);
    remaining.push(Number(rateHeaders(states, own.limits)['x-ratelimit-remaining-requests']));
    void store.finish(own, 0);
  }
  expect(spy).toHaveBeenCalledTimes(1);
  expect(remaining).toEqual(remaining.map((_, index) => (remaining[0] as number) - index));
  const other = processes[1] as RedisRateStore;
  await eventuallyHolds(async () => {
    const seen = question({ ...caller, keyId: newUuid() }, 0, false);
    const { states } = await other.take(seen);
    expect(states.account.requestsUs).toBeGreaterThan((9 * 60e6) / LIMITS.requestsPerMinute);
    expect(states.account.inFlight).toBe(0);
  });
});

test('a place that is given back before Redis was told of it never reaches Redis', async () => {
  const [store] = processes as [RedisRateStore];
  const caller = newCaller();
  await store.take(question(caller, 0, false));
  const spy = commands();
  const [short, long] = [question(caller), question(caller)];
  await store.take(short);
  await store.finish(short, 0);
  await store.take(long);
  await eventuallyHolds(() => expect(spy).toHaveBeenCalled());
  const sent = spy.mock.calls.flat() as unknown[];
  expect(sent).not.toContain(short.callId);
  expect(sent).toContain(long.callId);
});

test('a place that Redis has been told of counts once', async () => {
  const [store] = processes as [RedisRateStore];
  const caller = newCaller();
  for (let place = 1; place <= 6; place += 1) {
    expect((await store.take(question(caller, 0))).states.account.inFlight).toBe(place);
    await eventuallyHolds(async () => expect((await asked(caller)).states.account.inFlight).toBe(place));
  }
});

test('asks again once Redis has failed to answer, and once an answer is old', async () => {
  const [store] = processes as [RedisRateStore];
  const caller = newCaller();
  const read = () => question(caller, 0, false);
  await store.take(read());
  const spy = commands();
  spy.mockRejectedValueOnce(new Error('connection lost'));
  await store.take(read());
  await eventuallyHolds(() => expect(spy).toHaveBeenCalledTimes(1));
  await store.take(read());
  expect(spy).toHaveBeenCalledTimes(2);
  const now = performance.now();
  jest.spyOn(performance, 'now').mockReturnValue(now + 1_100);
  await store.take(read());
  expect(spy).toHaveBeenCalledTimes(3);
});

import { jest } from '@jest/globals';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { MemoryRateStore } from '../../src/http/limits/memory-rate-store.ts';
import type { RateCost, RateLimits } from '../../src/http/limits/rate-policy.ts';
import type { RateQuestion, RateStore } from '../../src/http/limits/rate-store.types.ts';
import { RedisRateStore } from '../../src/http/limits/redis-rate-store.ts';
import { newUuid } from '../../src/lib/ids.ts';
import { eventuallyHolds } from '../factories/eventually.ts';

/** Calls of a key ask Redis together, and each is decided as if it had asked alone. */

const redis = new Redis(process.env.TEST_REDIS_URL ?? '', { enableOfflineQueue: false, lazyConnect: true });
let shared: RedisRateStore;

beforeAll(async () => {
  await redis.connect();
});

beforeEach(() => {
  shared = new RedisRateStore(redis, 'tollgate');
});

afterEach(async () => {
  jest.restoreAllMocks();
  shared?.close();
  // a batch that was under way is followed by a last one, which the next test would count: two round trips are after both
  await redis.ping();
  await redis.ping();
});

afterAll(() => redis.disconnect());

/** Three seconds per request and per token: a limit does not recover within a test. */
const SLOW: RateLimits = { requestsPerMinute: 20, tokensPerMinute: 20, concurrency: 6 };
const UNIT_RECOVERS_MS = 3_000;
const WIDE: RateLimits = { requestsPerMinute: 1e6, tokensPerMinute: 1e9, concurrency: 1_000 };

interface Caller {
  readonly keyId: string;
  readonly accountId: string;
}

function question({ keyId, accountId }: Caller, cost: RateCost, limits = SLOW): RateQuestion {
  return { keyId, accountId, callId: newUuid(), limits: { key: limits, account: limits }, cost };
}

function newCaller(): Caller {
  return { keyId: newUuid(), accountId: newUuid() };
}

/** Spies on how often the connection runs the script. */
function commands() {
  return jest.spyOn(redis as unknown as { tollgateRateBatch(): Promise<number[]> }, 'tollgateRateBatch');
}

type Step =
  | { readonly kind: 'begin'; readonly cost: RateCost }
  | { readonly kind: 'end'; readonly used: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant('begin' as const),
    cost: fc.record({ tokens: fc.nat(5), concurrent: fc.boolean() }),
  }),
  fc.record({ kind: fc.constant('end' as const), used: fc.nat(6) }),
);

/** Plays rounds of calls that begin and end at once. Between rounds every answer has arrived. */
async function play(store: RateStore, rounds: readonly (readonly Step[])[]): Promise<unknown[]> {
  const caller = newCaller();
  const running: RateQuestion[] = [];
  const told: unknown[] = [];
  for (const round of rounds) {
    const ends = round.flatMap((one) => (one.kind === 'end' ? [one] : [])).slice(0, running.length);
    const ended = ends.map(({ used }) => {
      const call = running.shift() as RateQuestion;
      return store.finish(call, used - call.cost.tokens);
    });
    const asked = round.flatMap((one) => (one.kind === 'begin' ? [question(caller, one.cost)] : []));
    const decisions = await Promise.all(asked.map((call) => store.take(call)));
    await Promise.all(ended);
    decisions.forEach(({ refused, scope }, index) => {
      told.push([refused, refused && scope]);
      if (refused === null) {
        running.push(asked[index] as RateQuestion);
      }
    });
  }
  return told;
}

test('batches decide like the policy decides one call after the other', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(step, { maxLength: 12 }), { minLength: 1, maxLength: 6 }),
      async (rounds) => {
        // the model's clock stands still: a play that takes longer than a unit needs to recover, on a starved machine, says nothing
        const model = new MemoryRateStore({ now: () => 0 });
        const startedAt = performance.now();
        const told = await play(shared, rounds);
        fc.pre(performance.now() - startedAt < UNIT_RECOVERS_MS);
        expect(told).toEqual(await play(model, rounds));
      },
    ),
    { numRuns: 100 },
  );
});

test('a single call is one immediate command, and many calls of one key share a few', async () => {
  const asked = commands();
  const caller = newCaller();
  const cost = { tokens: 1, concurrent: true };
  await shared.take(question(caller, cost, WIDE));
  expect(asked).toHaveBeenCalledTimes(1);
  const crowd = Array.from({ length: 200 }, () => question(caller, cost, WIDE));
  const decisions = await Promise.all(crowd.map((call) => shared.take(call)));
  expect(decisions.map(({ refused }) => refused)).toEqual(crowd.map(() => null));
  // 64 at a time, and the first may go alone
  expect(asked.mock.calls.length).toBeLessThanOrEqual(1 + 5);
  const inFlight = decisions.map(({ states }) => states.account.inFlight);
  expect(inFlight).toEqual(crowd.map((_, index) => index + 2));
  await Promise.all(crowd.map((call) => shared.finish(call, 0)));
  expect(asked.mock.calls.length).toBeLessThanOrEqual(12);
});

test('the end of a call is sent together with the next call of its key, or soon on its own', async () => {
  const asked = commands();
  const [first, second] = callsOf(newCaller(), WIDE);
  await shared.take(first);
  const ended = shared.finish(first, 0);
  expect((await shared.take(second)).states.account.inFlight).toBe(1);
  await ended;
  expect(asked).toHaveBeenCalledTimes(2);
  await shared.finish(second, 0);
  expect(asked).toHaveBeenCalledTimes(3);
});

test.each<[string, Partial<RateLimits>, number]>([
  ['its places', { concurrency: 2 }, 0],
  ['its tokens', { tokensPerMinute: 2 }, -1],
])('sends the end of a call at once where more than half of %s is used', async (_name, limits, delta) => {
  const asked = commands();
  const [first, second] = callsOf(newCaller(), { ...WIDE, ...limits });
  await Promise.all([shared.take(first), shared.take(second)]);
  const before = asked.mock.calls.length;
  const ended = shared.finish(first, delta);
  expect(asked.mock.calls.length).toBe(before + 1);
  await ended;
});

test('other keys of the account do not hide a key that is near its limit', async () => {
  const caller = newCaller();
  const [first] = callsOf(caller, { ...WIDE, concurrency: 1 });
  const { limits } = first;
  const call = { ...first, limits: { ...limits, account: WIDE } };
  await shared.take(call);
  const [other] = callsOf({ ...caller, keyId: newUuid() }, WIDE);
  await shared.take(other);
  await shared.take(question(caller, { tokens: 0, concurrent: false }, WIDE));
  const asked = commands();
  const ended = shared.finish(call, 0);
  await new Promise(setImmediate);
  expect(asked).toHaveBeenCalledTimes(1);
  await ended;
});

test('reports waiting ends of calls before the store closes', async () => {
  const asked = commands();
  const [call] = callsOf(newCaller(), WIDE);
  await shared.take(call);
  const ended = shared.finish(call, 0);
  shared.close();
  await new Promise(setImmediate);
  expect(asked).toHaveBeenCalledTimes(2);
  await ended;
});

function callsOf(caller: Caller, limits: RateLimits): [RateQuestion, RateQuestion] {
  const call = () => question(caller, { tokens: 1, concurrent: true }, limits);
  return [call(), call()];
}

test('an answer that arrives too late gives back what was admitted, and only that', async () => {
  const caller = newCaller();
  const cost = { tokens: 5, concurrent: true };
  const limits: RateLimits = { requestsPerMinute: 1e6, tokensPerMinute: 20, concurrency: 100 };
  const call = (own = cost) => question(caller, own, limits);
  const running = await Promise.all([call(), call(), call()].map((one) => shared.take(one)));
  expect(running.map(({ refused }) => refused)).toEqual([null, null, null]);
  const ask = Reflect.get(redis, 'tollgateRateBatch').bind(redis) as (
    ...args: unknown[]
  ) => Promise<number[]>;
  let answerNow: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    answerNow = resolve;
  });
  commands().mockImplementationOnce(async (...args: unknown[]) => {
    const numbers = await ask(...args);
    await held;
    return numbers;
  });
  // the first is admitted, but too late; the second was never asked
  const outcomes = await Promise.allSettled([call(), call()].map((one) => shared.take(one)));
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  answerNow();
  await eventuallyHolds(async () => {
    const next = call({ tokens: 0, concurrent: true });
    const { states } = await shared.take(next);
    await shared.finish(next, 0);
    expect(states.account.inFlight).toBe(running.length + 1);
    expect(states.account.tokensUs).toBeLessThanOrEqual(45_000_000);
    expect(states.account.tokensUs).toBeGreaterThan(40_000_000);
  });
});

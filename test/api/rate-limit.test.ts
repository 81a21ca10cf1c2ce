import { setImmediate } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { z } from 'zod';
import { FallbackRateStore } from '../../src/http/limits/fallback-rate-store.ts';
import { MemoryRateStore } from '../../src/http/limits/memory-rate-store.ts';
import type { RateStore } from '../../src/http/limits/rate-store.types.ts';
import { RedisRateStore } from '../../src/http/limits/redis-rate-store.ts';
import { defineRoute } from '../../src/http/route.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { newUuid, publicId } from '../../src/lib/ids.ts';
import { createAccount } from '../factories/account.ts';
import { createKey } from '../factories/api-key.ts';
import { eventuallyHolds } from '../factories/eventually.ts';
import type { Answer } from './support/answer.types.ts';
import { ADMIN_TOKEN, startTestServer, type TestServer } from './support/test-server.ts';

let release: () => void = () => undefined;
let gate: Promise<void> = Promise.resolve();
let onEnter = (): Promise<void> => gate;
let used = 0;
let entered = 0;

const paid = defineRoute({
  method: 'post',
  path: '/api/v1/paid',
  operationId: 'paid',
  summary: 'paid',
  tag: 'Test',
  access: 'inference',
  envelope: 'bare',
  body: z.object({ text: z.string() }),
  response: { status: 200, schema: z.any() },
  errors: [],
  async handle({ reportTokens }) {
    entered += 1;
    await onEnter();
    reportTokens(used);
    return { body: { ok: true } };
  },
});

const kept = defineRoute({ ...paid, path: '/api/v1/kept', operationId: 'kept', idempotency: 'replay' });

const redis = new Redis(process.env.TEST_REDIS_URL ?? '', { enableOfflineQueue: false, lazyConnect: true });
const stores: [string, () => Promise<RateStore>][] = [
  ['in the process', async () => new MemoryRateStore(systemClock)],
  [
    'in Redis',
    async () => {
      if (redis.status !== 'ready') {
        await redis.connect();
      }
      return new FallbackRateStore(
        new RedisRateStore(redis, 'tollgate'),
        new MemoryRateStore(systemClock),
        systemClock,
      );
    },
  ],
];

afterAll(() => redis.disconnect());

describe.each(stores)('limits counted %s', (_, createStore) => {
  let server: TestServer;
  let secret: string;
  afterEach(() => server?.close());

  async function start(
    limits: { requestsPerMinute: number; tokensPerMinute: number; concurrency: number },
    placeWaitMs?: number,
  ) {
    server = await startTestServer({
      extraRoutes: [paid, kept],
      limits,
      rateStore: await createStore(),
      ...(placeWaitMs !== undefined && { placeWaitMs }),
    });
    secret = (await createKey(server.database, (await createAccount(server.database)).id)).secret;
    gate = Promise.resolve();
    onEnter = () => gate;
    used = 0;
    entered = 0;
  }
  const pay = (): Promise<Answer> =>
    server.call('POST', '/api/v1/paid', { key: secret, body: { text: 'a' } });

  test('requests: exactly the allowed number passes at once, and the headers count down', async () => {
    await start({ requestsPerMinute: 10, tokensPerMinute: 1e6, concurrency: 100 });
    const answers = await Promise.all(
      Array.from({ length: 25 }, () => server.call('GET', '/api/v1/key', { key: secret })),
    );
    const passed = answers.filter((answer) => answer.status === 200);
    expect(passed).toHaveLength(10);
    expect(
      passed
        .map((answer) => Number(answer.headers.get('x-ratelimit-remaining-requests')))
        .sort((a, b) => a - b),
    ).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const refused = answers.find((answer) => answer.status === 429);
    expect(refused?.json.error.code).toBe('rate_limit_exceeded');
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(Number(refused?.headers.get('retry-after'))).toBeLessThanOrEqual(7);
    expect(refused?.headers.get('x-ratelimit-limit-requests')).toBe('10');
    expect(refused?.headers.get('x-ratelimit-reset-requests')).toMatch(/^(\d+ms|\d+s|\d+m\d+s)$/);
  });

  test('tokens: counts actual use, and a rejected call consumes nothing', async () => {
    await start({ requestsPerMinute: 100, tokensPerMinute: 30, concurrency: 100 });
    // four minutes' worth, so that a slow machine does not pay it off between two calls
    used = 120;
    expect((await pay()).status).toBe(200);
    await eventuallyHolds(async () => {
      const read = await server.call('GET', '/api/v1/key', { key: secret });
      expect(read.headers.get('x-ratelimit-remaining-tokens')).toBe('0');
      expect(read.headers.get('x-ratelimit-reset-tokens')).toMatch(/^(4m0s|3m\d+s)$/);
    });
    const refused = await pay();
    expect([refused.status, refused.json.error.code]).toEqual([429, 'rate_limit_exceeded']);
    expect(refused.json.error.message).toContain('tokens');
    const before = Number(refused.headers.get('x-ratelimit-remaining-requests'));
    const again = await pay();
    expect(again.status).toBe(429);
    expect(Number(again.headers.get('x-ratelimit-remaining-requests'))).toBeGreaterThanOrEqual(before);
  });

  test('concurrency: a waiting call gets a place when a response ends, first come, first served', async () => {
    await start({ requestsPerMinute: 1000, tokensPerMinute: 1e6, concurrency: 3 });
    const endings: (() => void)[] = [];
    onEnter = () => new Promise((resolve) => void endings.push(resolve));
    const ended: number[] = [];
    const calls: Promise<unknown>[] = [];
    for (let call = 0; call < 6; call += 1) {
      calls.push(pay().then(({ status }) => ended.push(status)));
      if (call < 3) {
        await eventuallyHolds(() => expect(endings).toHaveLength(call + 1));
      }
    }
    for (let call = 0; call < 6; call += 1) {
      await eventuallyHolds(() => expect(endings.length).toBeGreaterThan(call));
      expect(entered).toBeLessThanOrEqual(3 + ended.length);
      endings[call]!();
      await eventuallyHolds(() => expect(ended).toHaveLength(call + 1));
    }
    await Promise.all(calls);
    expect(ended).toEqual([200, 200, 200, 200, 200, 200]);
  });

  test('concurrency: a call that waited in vain learns how long calls take, and one that disconnects blocks nobody', async () => {
    await start({ requestsPerMinute: 1000, tokensPerMinute: 1e6, concurrency: 1 }, 150);
    gate = new Promise((resolve) => {
      release = resolve;
    });
    const running = pay();
    await eventuallyHolds(() => expect(entered).toBe(1));
    const refused = await pay();
    expect([refused.status, refused.json.error.code]).toEqual([429, 'concurrency_limit_exceeded']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    const leaving = new AbortController();
    const left = fetch(`${server.url}/api/v1/paid`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${secret}` },
      body: '{"text":"a"}',
      signal: leaving.signal,
    }).catch(() => undefined);
    leaving.abort();
    await left;
    release();
    expect((await running).status).toBe(200);
    expect((await pay()).status).toBe(200);
    expect(entered).toBe(2);
  });

  async function hangUp(headers: Record<string, string> = {}): Promise<void> {
    const leaving = new AbortController();
    const left = fetch(`${server.url}/api/v1/kept`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${secret}`, ...headers },
      body: '{"text":"a"}',
      signal: leaving.signal,
    }).catch(() => undefined);
    const before = entered;
    await eventuallyHolds(() => expect(entered).toBe(before + 1));
    leaving.abort();
    await left;
  }

  test('tokens: those of a call that went on without its client count, too', async () => {
    await start({ requestsPerMinute: 100, tokensPerMinute: 30, concurrency: 100 });
    used = 120;
    gate = new Promise((resolve) => {
      release = resolve;
    });
    await hangUp();
    const remaining = async () => {
      const read = await server.call('GET', '/api/v1/key', { key: secret });
      return Number(read.headers.get('x-ratelimit-remaining-tokens'));
    };
    await eventuallyHolds(async () => expect(await remaining()).toBeGreaterThan(20));
    release();
    await eventuallyHolds(async () => expect(await remaining()).toBe(0));
    expect((await pay()).json.error.code).toBe('rate_limit_exceeded');
  });

  test('concurrency: a call that goes on for a repeated request keeps its place, others give it back', async () => {
    await start({ requestsPerMinute: 1000, tokensPerMinute: 1e6, concurrency: 1 }, 150);
    gate = new Promise((resolve) => {
      release = resolve;
    });
    await hangUp();
    await hangUp({ 'idempotency-key': 'first' });
    expect((await pay()).json.error.code).toBe('concurrency_limit_exceeded');
    expect(entered).toBe(2);
    release();
    await eventuallyHolds(async () => expect((await pay()).status).toBe(200));
  });

  test('many keys of an account together get no more than the account, and the headers show the tighter limit', async () => {
    await start({ requestsPerMinute: 10, tokensPerMinute: 1e6, concurrency: 100 });
    const accountId = (await createAccount(server.database)).id;
    const keys: string[] = [];
    while (keys.length < 600) {
      keys.push((await createKey(server.database, accountId)).secret);
    }
    const startedAt = performance.now();
    const answers = await Promise.all(keys.map((key) => server.call('GET', '/api/v1/key', { key })));
    // ten at once, plus one for each six seconds that the test takes
    const served = answers.filter(({ status }) => status === 200).length;
    expect(served).toBeGreaterThanOrEqual(10);
    expect(served).toBeLessThanOrEqual(11 + (performance.now() - startedAt) / 6_000);
    const refused = answers.find(({ status }) => status === 429);
    expect(refused?.json.error.message).toContain("the account's limit of requests");
    expect(refused?.headers.get('x-ratelimit-remaining-requests')).toBe('0');
    expect((await server.call('GET', '/api/v1/key', { key: secret })).status).toBe(200);
  });

  test("a key's own limits apply below its account's, and an account's own replace the configured ones", async () => {
    await start({ requestsPerMinute: 2, tokensPerMinute: 1e6, concurrency: 100 });
    const accountId = (await createAccount(server.database)).id;
    const free = await createKey(server.database, accountId);
    const confined = await createKey(server.database, accountId);
    const raised = await server.call('PATCH', `/admin/v1/accounts/${publicId('account', accountId)}`, {
      key: ADMIN_TOKEN,
      body: { rate_limits: { requests_per_minute: 20, queued_tasks: 5 } },
    });
    expect(raised.json.data.rate_limits).toEqual({ requests_per_minute: 20, queued_tasks: 5 });
    const lowered = await server.call('PATCH', `/api/v1/keys/${confined.hash}`, {
      key: free.secret,
      body: { rate_limits: { requests_per_minute: 3, concurrency: 1_000 } },
    });
    expect(lowered.json.data.rate_limits).toEqual({ requests_per_minute: 3, concurrency: 1_000 });
    const read = async (key: string, times: number) => {
      const answers = await Promise.all(
        Array.from({ length: times }, () => server.call('GET', '/api/v1/key', { key })),
      );
      return answers.filter(({ status }) => status === 200).length;
    };
    expect(await read(confined.secret, 8)).toBe(3);
    expect(await read(free.secret, 30)).toBe(16);
    const told = await server.call('GET', '/api/v1/key', { key: confined.secret });
    expect(told.headers.get('x-ratelimit-limit-requests')).toBe('3');
  });

  test('account reads do not take a place', async () => {
    await start({ requestsPerMinute: 1000, tokensPerMinute: 1e6, concurrency: 1 });
    gate = new Promise((resolve) => {
      release = resolve;
    });
    const running = pay();
    await eventuallyHolds(() => expect(entered).toBe(1));
    expect((await server.call('GET', '/api/v1/key', { key: secret })).status).toBe(200);
    release();
    await running;
  });
});

test('without Redis the same limits apply in the process and no request fails', async () => {
  const away = new Redis('redis://127.0.0.1:1', {
    enableOfflineQueue: false,
    lazyConnect: true,
    retryStrategy: () => null,
  });
  away.on('error', () => undefined);
  const store = new FallbackRateStore(
    new RedisRateStore(away, 'tollgate'),
    new MemoryRateStore(systemClock),
    systemClock,
  );
  const server = await startTestServer({
    rateStore: store,
    limits: { requestsPerMinute: 5, tokensPerMinute: 1e6, concurrency: 5 },
  });
  const { secret } = await createKey(server.database, (await createAccount(server.database)).id);
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => server.call('GET', '/api/v1/key', { key: secret })),
  );
  expect(answers.map((answer) => answer.status).sort()).toEqual([200, 200, 200, 200, 200, 429, 429, 429]);
  away.disconnect();
  await server.close();
});

test('accepts an answer delayed by this busy process, and one missed answer does not pause the use of Redis', async () => {
  if (redis.status !== 'ready') {
    await redis.connect();
  }
  const decided: string[] = [];
  const note = (where: 'shared' | 'local') => decided.push(where);
  const shared = new RedisRateStore(redis, 'tollgate');
  const store = new FallbackRateStore(shared, new MemoryRateStore(systemClock), systemClock, note);
  const most = { requestsPerMinute: 1_000, tokensPerMinute: 1e6, concurrency: 50 };
  const limits = { key: most, account: most };
  const take = () =>
    store.take({
      ...{ keyId: 'busy', accountId: 'a', callId: newUuid(), limits },
      cost: { tokens: 0, concurrent: false },
    });
  await take();
  for (let turn = 0; turn < 3; turn += 1) {
    const taken = take();
    await setImmediate();
    blockFor(150);
    await taken;
  }
  expect(decided).toEqual(['shared', 'shared', 'shared', 'shared']);
  const silence = jest.spyOn(shared, 'take').mockRejectedValueOnce(new Error('Redis has not answered'));
  await take();
  await take();
  expect(decided.slice(4)).toEqual(['local', 'shared']);
  silence.mockRestore();
  store.close();
});

function blockFor(milliseconds: number): void {
  const until = performance.now() + milliseconds;
  while (performance.now() < until) {}
}

test('an unresponsive Redis delays two requests by its timeout and the next ones not at all', async () => {
  const silent = { status: 'ready', defineCommand: () => undefined } as unknown as Redis;
  Object.assign(silent, {
    tollgateRateBatch: () => new Promise(() => undefined),
  });
  const store = new FallbackRateStore(
    new RedisRateStore(silent, 'tollgate'),
    new MemoryRateStore(systemClock),
    systemClock,
  );
  const most = { requestsPerMinute: 5, tokensPerMinute: 10, concurrency: 5 };
  const limits = { key: most, account: most };
  const question = { keyId: 'k', accountId: 'a', callId: 'c', limits, cost: { tokens: 0, concurrent: true } };
  const startedAt = performance.now();
  expect((await store.take(question)).refused).toBeNull();
  const first = performance.now() - startedAt;
  await store.take({ ...question, callId: 'd' });
  const second = performance.now() - startedAt - first;
  const third = store.take({ ...question, callId: 'e' }).then(({ refused }) => refused);
  expect(await Promise.race([third, setImmediate('it waits')])).toBeNull();
  expect(first).toBeGreaterThan(80);
  expect(second).toBeGreaterThan(80);
  expect(first + second).toBeLessThan(1_500);
  store.close();
});

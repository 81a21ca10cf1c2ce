import { setImmediate as nextTurn } from 'node:timers/promises';
import { ZERO_USD } from '../../lib/money.ts';
import { KeyCache, type KeyFacts } from './key-cache.ts';

const facts = (disabled: boolean): KeyFacts => ({
  principal: {
    accountId: 'a',
    accountName: 'a',
    apiKeyId: 'k',
    keyHash: 'h',
    role: 'owner',
    allowedModels: null,
    rateLimits: { key: null, account: null, queuedTasks: null },
    spendable: ZERO_USD,
  },
  disabled,
  suspended: false,
  expiresAtMs: null,
});

function setUp() {
  let now = 0;
  let stored: KeyFacts | undefined = facts(false);
  let lookups = 0;
  const cache = new KeyCache(
    async (hashes) => {
      lookups += 1;
      return new Map(hashes.flatMap((hash) => (stored ? [[hash, stored] as const] : [])));
    },
    { now: () => now },
  );
  return {
    cache,
    at: (ms: number) => {
      now = ms;
    },
    store: (value: KeyFacts | undefined) => {
      stored = value;
    },
    lookups: () => lookups,
  };
}

test('a change made elsewhere is seen within a second, a local one at once', async () => {
  const { cache, at, store, lookups } = setUp();
  expect((await cache.find('h'))?.disabled).toBe(false);
  store(facts(true));
  at(500);
  expect((await cache.find('h'))?.disabled).toBe(false);
  at(1_000);
  expect((await cache.find('h'))?.disabled).toBe(true);
  store(undefined);
  cache.forget('h');
  expect(await cache.find('h')).toBeUndefined();
  expect(lookups()).toBe(3);
});

test('concurrent requests share one lookup, and an unknown key is cached too', async () => {
  const { cache, store, lookups } = setUp();
  store(undefined);
  await Promise.all(Array.from({ length: 50 }, () => cache.find('h')));
  await cache.find('h');
  expect(lookups()).toBe(1);
});

test('a flood of unknown keys causes one lookup at a time and evicts no known key', async () => {
  let [inFlight, most, lookups] = [0, 0, 0];
  const cache = new KeyCache(
    async (hashes) => {
      inFlight += 1;
      lookups += 1;
      most = Math.max(most, inFlight);
      await new Promise((resolve) => setImmediate(resolve));
      inFlight -= 1;
      return new Map(hashes.filter((hash) => hash === 'h').map((hash) => [hash, facts(false)]));
    },
    { now: () => 0 },
  );
  expect(await cache.find('h')).toBeDefined();
  for (let round = 0; round < 4; round += 1) {
    await Promise.all(Array.from({ length: 5_000 }, (_, index) => cache.find(`${round}-${index}`)));
  }
  const before = lookups;
  expect(before).toBeLessThanOrEqual(1 + 4 * 11);
  expect(most).toBe(1);
  expect(await cache.find('h')).toBeDefined();
  expect(lookups).toBe(before);
});

test('a failed lookup is not cached', async () => {
  let fails = true;
  const cache = new KeyCache(
    async () => {
      if (fails) {
        throw new Error('away');
      }
      return new Map([['h', facts(false)]]);
    },
    { now: () => 0 },
  );
  await expect(cache.find('h')).rejects.toThrow('away');
  fails = false;
  expect(await cache.find('h')).toBeDefined();
});

test('a key in use is looked up again before its facts expire, so no call waits for it', async () => {
  const { cache, at, store, lookups } = setUp();
  await cache.find('h');
  at(500);
  await cache.find('h');
  expect(lookups()).toBe(1);
  store(facts(true));
  at(700);
  expect((await cache.find('h'))?.disabled).toBe(false);
  await nextTurn();
  expect((await cache.find('h'))?.disabled).toBe(true);
  at(1_200);
  expect((await cache.find('h'))?.disabled).toBe(true);
  expect(lookups()).toBe(2);
});

test('an answer older than a local change is not cached', async () => {
  let answer: (facts: KeyFacts) => void = () => undefined;
  const cache = new KeyCache(
    () =>
      new Promise((resolve) => {
        answer = (found) => resolve(new Map([['h', found]]));
      }),
    { now: () => 0 },
  );
  const before = cache.find('h');
  cache.forget('h');
  answer(facts(false));
  expect((await before)?.disabled).toBe(false);
  const after = cache.find('h');
  answer(facts(true));
  expect((await after)?.disabled).toBe(true);
});

import { Redis } from 'ioredis';
import { createLogger } from '../../src/lib/logger.ts';
import { CircuitExchange } from '../../src/providers/circuit-exchange.ts';
import { ProviderFailure } from '../../src/providers/provider-failure.ts';
import { ProviderHealth } from '../../src/providers/provider-health.ts';

/** What operators see of the circuits of every process. */

const redis = new Redis(process.env.TEST_REDIS_URL!, { db: 9 });
let now = 1_000_000;
const clock = { now: () => now };
const log = createLogger({ name: 'test', level: 'silent' });
beforeEach(() => redis.del('circuit-test:circuits'));
afterAll(() => redis.quit());

function replicaOf(replica: string, health = new ProviderHealth(clock)) {
  return new CircuitExchange({
    ...{ redis, prefix: 'circuit-test', replica, clock, log },
    resting: () => health.resting(),
  });
}

test('each process reports what it pauses, and one that is gone or silent is left out', async () => {
  const health = new ProviderHealth(clock);
  const first = replicaOf('api-1', health);
  const second = replicaOf('api-2');
  await second.publish();
  expect(await first.read()).toEqual([
    { replica: 'api-1', resting: [] },
    { replica: 'api-2', resting: [] },
  ]);

  health.reportFailedProbe({ provider: 'openai', model: 'gpt', accountId: 'a' });
  const resting = [{ provider: 'openai', model: 'gpt', state: 'open' }];
  await first.publish();
  expect((await second.read())[0]).toEqual({ replica: 'api-1', resting });

  await first.close();
  expect(await second.read()).toEqual([{ replica: 'api-2', resting: [] }]);
  now += 20_000;
  expect(await first.read()).toEqual([{ replica: 'api-1', resting }]);
});

test('a provider that asked several accounts to wait is cooling', () => {
  const health = new ProviderHealth(clock);
  for (const accountId of ['a', 'b', 'c']) {
    const failure = new ProviderFailure('rate_limited', { retryAfterMs: 5_000 });
    health.report({ provider: 'openai', model: 'gpt', accountId }, failure);
  }
  expect(health.resting()).toEqual([{ provider: 'openai', model: 'gpt', state: 'cooling' }]);
  now += 6_000;
  expect(health.resting()).toEqual([]);
});

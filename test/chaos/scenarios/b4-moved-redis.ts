import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { startEmbeddedRedis } from '../../../ops/embedded/embedded-redis.ts';
import { redisCacheFolders } from '../../../ops/embedded/redis-binary.ts';
import { type MovingAddress, startMovingAddress } from '../../setup/moving-address.ts';
import { guardServices } from '../../setup/test-services.ts';
import { auditBooks, auditCalls, queryOwner } from '../audit.ts';
import { startLoad } from '../load-client.ts';
import { isShed, OutcomeLog } from '../outcome-log.ts';
import { pause } from '../pause.ts';
import type { ChaosScenario } from '../scenario.types.ts';
import { type ChaosStack, startStack, throughPort } from '../stack.ts';
import { auditTasks, orderTasks, type ToldTasks } from '../task-client.ts';
import { words } from '../upstream-words.ts';

const CALLS_PER_SECOND = 20;
const TASKS = 10;
const TASKS_PER_SECOND = 5;
const NORMAL_WITHIN_MS = 15_000;
const CALLS_SHARE_MIN = 0.99;
/** Maximum share of orders that a busy machine may shed. */
const ORDERS_SHED_MAX = 0.2;

export const movedRedis: ChaosScenario = {
  id: 'B4',
  fault: `Redis moves to an empty server; the master becomes a replica and the address moves; its host goes silent: each under ${CALLS_PER_SECOND} calls/s and ${TASKS} tasks`,
  asked:
    'calls answered ≥ 99 %, 0 tasks lost, orders placed after it run within 15 s without a restart, all within a minute',
  inShortForm: false,
  async run(services) {
    services.upstream.reset({ words: words(10), tokenDelayMs: 5 });
    const first = services.redisUrl;
    const folder = join(services.folder, 'second-redis');
    mkdirSync(folder);
    const release = guardServices(folder);
    const second = await startEmbeddedRedis({
      dataDir: folder,
      durable: false,
      logFile: join(folder, 'redis.log'),
      environment: process.env,
      cacheFolders: redisCacheFolders(process.env, folder),
    });
    const password = decodeURIComponent(new URL(first).password);
    await administer(second.redisUrl, (redis) => redis.config('SET', 'requirepass', password));
    const address = await startMovingAddress(Number(new URL(first).port));
    const through = throughPort(address.port);
    const stack = await startStack(services, { apis: 2, workers: [[]], redisUrl: through });
    try {
      const accounts = await Promise.all(Array.from({ length: 10 }, () => stack.openAccount('1000')));
      const log = new OutcomeLog();
      const target = { urls: () => stack.urls, accounts };
      const load = startLoad({ ...target, log, perSecond: CALLS_PER_SECOND, streamShare: 0.5 });
      const told: ToldTasks = { accepted: [], refused: 0 };
      const order = () => orderTasks({ ...target, perSecond: TASKS_PER_SECOND, count: TASKS, told });
      await order();
      const seen: string[] = [];
      const failures: string[] = [];
      for (const [name, fault] of faults(address, first, second.port, password)) {
        const orders = order();
        await fault();
        const faultAt = performance.now();
        const after: string[] = [];
        await orderTasks({
          ...target,
          perSecond: 1,
          count: 5,
          told,
          onAccepted: (id) => void after.push(id),
        });
        const normalMs = (await untilOneEnded(stack, after)) - faultAt;
        await orders;
        seen.push(`${name}: tasks run again after ${(normalMs / 1_000).toFixed(1)} s`);
        failures.push(...(normalMs > NORMAL_WITHIN_MS ? [`${name}: ${normalMs.toFixed(0)} ms`] : []));
      }
      await load.stop();
      const tasks = await auditTasks(stack.database.ownerUrl, told, 60_000);
      const books = await auditBooks(stack.database.ownerUrl, 5_000);
      const { wrong } = await auditCalls(stack.database.ownerUrl, log.calls);
      // shed calls do not count: on a busy machine the API may be overloaded, which another row covers
      const share = log.answered / (log.calls.length - log.count(isShed));
      return {
        measured: `${seen.join('; ')}; ${tasks.succeeded} tasks charged once, ${tasks.failed} failed without charge; ${(share * 100).toFixed(2)} % of ${log.calls.length} calls answered`,
        failures: [
          ...failures,
          ...(share < CALLS_SHARE_MIN ? [JSON.stringify(log.troubles)] : []),
          ...(told.refused > told.accepted.length * ORDERS_SHED_MAX
            ? [`${told.refused} orders refused`]
            : []),
          ...tasks.wrong,
          ...wrong,
          ...books,
        ],
      };
    } finally {
      await stack.stop();
      await address.close();
      await release();
    }
  },
};

/**
 * Returns the faults in their order: the master is at the second server after the first fault, and back at the first server after the
 * second.
 */
function faults(
  address: MovingAddress,
  first: string,
  secondPort: number,
  password: string,
): [string, () => Promise<void>][] {
  const second = throughPort(secondPort)(first);
  const firstPort = Number(new URL(first).port);
  return [
    [
      'moved',
      async () => {
        address.move(secondPort);
        // moving a service also ends its connections to the old place
        await administer(first, (redis) => redis.call('CLIENT', 'KILL', 'TYPE', 'normal'));
      },
    ],
    [
      'demoted',
      async () => {
        await administer(second, async (redis) => {
          await redis.config('SET', 'masterauth', password);
          await redis.replicaof('127.0.0.1', firstPort);
        });
        address.move(firstPort);
      },
    ],
    ['silent', async () => address.vanish()],
  ];
}

async function administer(url: string, act: (redis: Redis) => Promise<unknown>): Promise<void> {
  const redis = new Redis(url, { maxRetriesPerRequest: 3 });
  redis.on('error', () => undefined);
  try {
    await act(redis);
  } finally {
    redis.disconnect();
  }
}

/** Returns `performance.now()` when the first of these tasks has ended, or after a minute. */
async function untilOneEnded(stack: ChaosStack, ids: readonly string[]): Promise<number> {
  const deadline = performance.now() + 60_000;
  const text = 'SELECT count(*)::integer AS ended FROM tasks WHERE completed_at IS NOT NULL AND id = ANY($1)';
  for (;;) {
    const [row] = await queryOwner<{ ended: number }>(stack.database.ownerUrl, text, [ids]);
    if ((row?.ended ?? 0) > 0 || performance.now() > deadline) {
      return performance.now();
    }
    await pause(200);
  }
}

import { Redis } from 'ioredis';
import { startMovingAddress } from '../../setup/moving-address.ts';
import { auditBooks, auditCalls } from '../audit.ts';
import { startLoad } from '../load-client.ts';
import { OutcomeLog } from '../outcome-log.ts';
import type { ChaosScenario } from '../scenario.types.ts';
import { startStack, throughPort } from '../stack.ts';
import { auditTasks, orderTasks, type ToldTasks } from '../task-client.ts';
import { words } from '../upstream-words.ts';

const DELAY_MS = 500;
const CALLS_PER_SECOND = 20;
const TASKS = 20;
const TASKS_PER_SECOND = 2;
const CALLS_SHARE_MIN = 0.99;
const ENDED_WITHIN_MS = 60_000;

export const slowRedis: ChaosScenario = {
  id: 'B6',
  fault: `every reply of Redis is ${DELAY_MS} ms late; then its memory is full: each under ${CALLS_PER_SECOND} calls/s and ${TASKS} tasks`,
  asked: 'calls answered ≥ 99 %, 0 tasks lost, all ended within a minute',
  inShortForm: false,
  async run(services) {
    services.upstream.reset({ words: words(10), tokenDelayMs: 5 });
    const address = await startMovingAddress(Number(new URL(services.redisUrl).port));
    const redisUrl = throughPort(address.port);
    const stack = await startStack(services, { apis: 2, workers: [[]], redisUrl });
    const redis = new Redis(services.redisUrl);
    try {
      const accounts = await Promise.all(Array.from({ length: 10 }, () => stack.openAccount('1000')));
      const target = { urls: () => stack.urls, accounts };
      const log = new OutcomeLog();
      const load = startLoad({ ...target, log, perSecond: CALLS_PER_SECOND, streamShare: 0.5 });
      const told: ToldTasks = { accepted: [], refused: 0 };
      const order = () => orderTasks({ ...target, perSecond: TASKS_PER_SECOND, count: TASKS, told });
      const seen: string[] = [];
      const wrongTasks: string[] = [];
      const ended = async (name: string) => {
        const { endedAfterMs, wrong } = await auditTasks(stack.database.ownerUrl, told, ENDED_WITHIN_MS);
        seen.push(`${name}: all ended ${(endedAfterMs / 1_000).toFixed(1)} s after it`);
        wrongTasks.push(...wrong);
      };
      address.delay(DELAY_MS);
      await order();
      address.delay(0);
      await ended('slow');
      await redis.config('SET', 'maxmemory-policy', 'noeviction');
      await redis.config('SET', 'maxmemory', '1');
      await order();
      await redis.config('SET', 'maxmemory', '0');
      await ended('full');
      await load.stop();
      const books = await auditBooks(stack.database.ownerUrl, 5_000);
      const { wrong } = await auditCalls(stack.database.ownerUrl, log.calls);
      return {
        measured: `${seen.join('; ')}; ${told.accepted.length} of ${2 * TASKS} orders accepted; ${(log.successShare * 100).toFixed(2)} % of ${log.calls.length} calls answered, p99 ${log.latencyMs(0.99).toFixed(0)} ms`,
        failures: [
          ...(log.successShare < CALLS_SHARE_MIN ? [JSON.stringify(log.troubles)] : []),
          ...(told.refused > 0 ? [`${told.refused} orders refused`] : []),
          ...wrongTasks,
          ...wrong,
          ...books,
        ],
      };
    } finally {
      redis.disconnect();
      await stack.stop();
      await address.close();
    }
  },
};

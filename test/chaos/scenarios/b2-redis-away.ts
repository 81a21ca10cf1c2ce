import { auditBooks, auditCalls } from '../audit.ts';
import { runLoad } from '../load-client.ts';
import type { ChaosScenario } from '../scenario.types.ts';
import { startStack } from '../stack.ts';
import { auditTasks, orderTasks, type ToldTasks } from '../task-client.ts';
import { ToldLog } from '../told-log.ts';
import { words } from '../upstream-words.ts';

const CALLS_SHARE_MIN = 0.99;
const ORDERS_SHARE_MIN = 0.95;
const ADDED_P99_MS_MAX = 10;
const TASKS_PER_SECOND = 3;

export const redisAway: ChaosScenario = {
  id: 'B2',
  fault: 'Redis is down',
  asked: 'calls answered ≥ 99 %, added p99 ≤ 10 ms; orders taken ≥ 95 %, and run once it is back',
  inShortForm: false,
  async run(services, { isShort }) {
    const awayMs = isShort ? 6_000 : 60_000;
    services.upstream.reset({ words: words(10), tokenDelayMs: 5 });
    const stack = await startStack(services, { apis: 2, workers: [[]] });
    const accounts = await Promise.all(Array.from({ length: 20 }, () => stack.openAccount('1000')));
    const target = { urls: () => stack.urls, accounts };
    const [warmUp, before, during] = [new ToldLog(), new ToldLog(), new ToldLog()];
    const told: ToldTasks = { accepted: [], refused: 0 };
    const load = { ...target, perSecond: 60, streamShare: 0.5 };
    await runLoad({ ...load, log: warmUp }, 3_000);
    await runLoad({ ...load, log: before }, isShort ? 4_000 : 15_000);
    services.killRedis();
    const count = (awayMs / 1_000) * TASKS_PER_SECOND;
    await Promise.all([
      runLoad({ ...load, log: during }, awayMs),
      orderTasks({ ...target, perSecond: TASKS_PER_SECOND, count, told }),
    ]);
    await services.startRedis();
    const audit = await auditTasks(stack.database.ownerUrl, told, 60_000);
    const books = await auditBooks(stack.database.ownerUrl, 5_000);
    const calls = [...warmUp.calls, ...before.calls, ...during.calls];
    const { wrong } = await auditCalls(stack.database.ownerUrl, calls);
    await stack.stop();
    const addedMs = during.latencyMs(0.99) - before.latencyMs(0.99);
    const orders = told.accepted.length / count;
    return {
      measured: `${awayMs / 1_000} s away; ${percent(during.successShare)} of ${during.calls.length} calls answered; p99 ${during.latencyMs(0.99).toFixed(0)} ms, before ${before.latencyMs(0.99).toFixed(0)} ms; ${percent(orders)} of ${count} orders taken, all ended ${(audit.endedAfterMs / 1_000).toFixed(0)} s after it was back`,
      failures: [
        ...(during.successShare < CALLS_SHARE_MIN
          ? [`${percent(during.successShare)} answered: ${JSON.stringify(during.troubles)}`]
          : []),
        // in the short form a p99 is a handful of calls
        ...(!isShort && addedMs > ADDED_P99_MS_MAX ? [`p99 rose by ${addedMs.toFixed(1)} ms`] : []),
        ...(orders < ORDERS_SHARE_MIN ? [`${percent(orders)} of the orders taken`] : []),
        ...audit.wrong,
        ...wrong,
        ...books,
      ],
    };
  },
};

function percent(share: number): string {
  return `${(share * 100).toFixed(2)} %`;
}

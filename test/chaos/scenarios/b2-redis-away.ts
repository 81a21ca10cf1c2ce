import { median } from '../../../bench/soak/slope.ts';
import { auditBooks, auditCalls } from '../audit.ts';
import { runLoad } from '../load-client.ts';
import { type CallOutcome, OutcomeLog } from '../outcome-log.ts';
import type { ChaosScenario } from '../scenario.types.ts';
import { startStack } from '../stack.ts';
import { auditTasks, orderTasks, type ToldTasks } from '../task-client.ts';
import { words } from '../upstream-words.ts';

const CALLS_SHARE_MIN = 0.99;
const ORDERS_SHARE_MIN = 0.95;
const ADDED_P99_MS_MAX = 10;
/** The p99 is the median over slices of this length, in ms: in a whole minute, one hiccup of the machine would determine it. */
const SLICE_MS = 10_000;
const TASKS_PER_SECOND = 3;
/** As many calls without the fault as with it, half of them before and half after: the machine's own speed changes by the minute. */
const CALLS_PER_SECOND = 60;

export const redisAway: ChaosScenario = {
  id: 'B2',
  fault: 'Redis is down',
  asked:
    'calls answered ≥ 99 %, added p99 ≤ 10 ms (median over slices of 10 s); orders accepted ≥ 95 %, and run once it is back',
  inShortForm: false,
  async run(services, { isShort }) {
    const awayMs = isShort ? 6_000 : 60_000;
    services.upstream.reset({ words: words(10), tokenDelayMs: 5 });
    const stack = await startStack(services, { apis: 2, workers: [[]] });
    const accounts = await Promise.all(Array.from({ length: 20 }, () => stack.openAccount('1000')));
    const target = { urls: () => stack.urls, accounts };
    const [warmUp, undisturbed, during] = [new OutcomeLog(), new OutcomeLog(), new OutcomeLog()];
    const load = { ...target, perSecond: CALLS_PER_SECOND, streamShare: 0.5 };
    const run = async (log: OutcomeLog, told: ToldTasks, milliseconds: number) => {
      const count = (milliseconds / 1_000) * TASKS_PER_SECOND;
      const orders = orderTasks({ ...target, perSecond: TASKS_PER_SECOND, count, told });
      await Promise.all([runLoad({ ...load, log }, milliseconds), orders]);
    };
    const [told, toldAside] = [nothingTold(), nothingTold()];
    await run(warmUp, toldAside, 6_000);
    await run(undisturbed, toldAside, awayMs / 2);
    services.killRedis();
    await run(during, told, awayMs);
    await services.startRedis();
    const audit = await auditTasks(stack.database.ownerUrl, told, 60_000);
    await run(undisturbed, toldAside, awayMs / 2);
    const auditAside = await auditTasks(stack.database.ownerUrl, toldAside, 60_000);
    const books = await auditBooks(stack.database.ownerUrl, 5_000);
    const calls = [...warmUp.calls, ...undisturbed.calls, ...during.calls];
    const { wrong } = await auditCalls(stack.database.ownerUrl, calls);
    await stack.stop();
    const [calmMs, awayP99Ms] = [typicalP99Ms(undisturbed), typicalP99Ms(during)];
    const addedMs = awayP99Ms - calmMs;
    const ordered = (awayMs / 1_000) * TASKS_PER_SECOND;
    const orders = told.accepted.length / ordered;
    return {
      measured: `${awayMs / 1_000} s down; ${percent(during.successShare)} of ${during.calls.length} calls answered; median p99 of ${SLICE_MS / 1_000} s slices ${awayP99Ms.toFixed(0)} ms, without the fault ${calmMs.toFixed(0)} ms; ${percent(orders)} of ${ordered} orders accepted, all ended ${(audit.endedAfterMs / 1_000).toFixed(0)} s after it was back`,
      failures: [
        ...(during.successShare < CALLS_SHARE_MIN
          ? [`${percent(during.successShare)} answered: ${JSON.stringify(during.troubles)}`]
          : []),
        // in the short form a p99 depends on a handful of calls
        ...(!isShort && addedMs > ADDED_P99_MS_MAX ? [`p99 rose by ${addedMs.toFixed(1)} ms`] : []),
        ...(orders < ORDERS_SHARE_MIN ? [`${percent(orders)} of the orders taken`] : []),
        ...audit.wrong,
        ...auditAside.wrong,
        ...wrong,
        ...books,
      ],
    };
  },
};

function typicalP99Ms(log: OutcomeLog): number {
  const sliceOf = ({ endedAt }: CallOutcome) => Math.floor(endedAt / SLICE_MS);
  const slices = [...new Set(log.calls.map(sliceOf))];
  return median(slices.map((slice) => log.latencyMs(0.99, (told) => sliceOf(told) === slice)));
}

function nothingTold(): ToldTasks {
  return { accepted: [], refused: 0 };
}

function percent(share: number): string {
  return `${(share * 100).toFixed(2)} %`;
}

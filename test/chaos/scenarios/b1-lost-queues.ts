import { auditBooks } from '../audit.ts';
import { pause } from '../pause.ts';
import type { ChaosScenario } from '../scenario.types.ts';
import { startStack } from '../stack.ts';
import { auditTasks, createJobDoubler, orderTasks, type ToldTasks } from '../task-client.ts';

const ENDED_WITHIN_MS = 60_000;

export const lostQueues: ChaosScenario = {
  id: 'B1',
  fault: 'kill -9 of workers and of Redis (without persistence), FLUSHALL, every tenth job run three times',
  asked: 'every accepted task ended ≤ 60 s after the last fault; one charge per success, none for failures',
  inShortForm: true,
  async run(services, { isShort }) {
    const plan = isShort
      ? { tasks: 120, perSecond: 30, workerKills: 2, flushes: 1, redisKills: 1 }
      : { tasks: 2_000, perSecond: 40, workerKills: 12, flushes: 5, redisKills: 3 };
    const stack = await startStack(services, { apis: 1, workers: [[], []] });
    const accounts = await Promise.all([stack.openAccount('1000'), stack.openAccount('1000')]);
    const doubler = createJobDoubler(services.redisUrl);
    const told: ToldTasks = { accepted: [], refused: 0 };
    const orders = orderTasks({
      ...{ urls: () => stack.urls, accounts, told, perSecond: plan.perSecond, count: plan.tasks },
      onAccepted: (taskId, number) => {
        if (number % 10 === 5) {
          doubler.double(taskId);
        }
      },
    });
    const faults = shuffled([
      ...Array.from({ length: plan.workerKills }, (_, kill) => () => stack.replaceWorker(kill % 2)),
      ...Array.from({ length: plan.flushes }, () => () => services.flushRedis()),
      ...Array.from({ length: plan.redisKills }, () => async () => {
        services.killRedis();
        await services.startRedis();
      }),
    ]);
    const gapMs = ((plan.tasks / plan.perSecond) * 1_000) / (faults.length + 1);
    for (const fault of faults) {
      const startedAt = performance.now();
      await fault();
      await pause(Math.max(0, gapMs - (performance.now() - startedAt)));
    }
    await orders;
    const audit = await auditTasks(stack.database.ownerUrl, told, ENDED_WITHIN_MS);
    const books = await auditBooks(stack.database.ownerUrl, 1_000);
    await doubler.close();
    await stack.stop();
    const { accepted, refused } = told;
    const accounted = audit.succeeded + audit.failed;
    return {
      measured: `${plan.workerKills} worker kills, ${plan.flushes} FLUSHALL, ${plan.redisKills} Redis kills, ${doubler.doubled()} jobs added again; ${accepted.length} tasks: ${audit.succeeded} succeeded and charged once, ${audit.failed} failed without charge; the last ended ${(audit.endedAfterMs / 1_000).toFixed(0)} s after the faults`,
      failures: [
        ...(refused > 0 ? [`${refused} orders were refused`] : []),
        ...(accounted === accepted.length ? [] : [`${accepted.length} accepted, ${accounted} ended`]),
        ...(audit.succeeded < accepted.length * 0.85 ? [`only ${audit.succeeded} succeeded`] : []),
        ...audit.wrong,
        ...books,
      ],
    };
  },
};

function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, order: Math.random() }))
    .sort((one, other) => one.order - other.order)
    .map(({ item }) => item);
}

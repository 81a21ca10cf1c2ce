import { auditBooks, auditCalls, expireHolds } from '../audit.ts';
import { startLoad } from '../load-client.ts';
import { OutcomeLog } from '../outcome-log.ts';
import { pause } from '../pause.ts';
import type { ChaosScenario } from '../scenario.types.ts';
import { startStack } from '../stack.ts';
import { auditTasks, orderTasks, type ToldTasks } from '../task-client.ts';
import { words } from '../upstream-words.ts';

const TTL_AND_MARGIN_MS = 70_000;
const TASKS_PER_SECOND = 5;

export const killedProcesses: ChaosScenario = {
  id: 'A1',
  fault: 'kill -9 of 3 API and 2 worker processes in turn, under calls, streams and tasks',
  asked: '0 lost, 0 duplicate, 0 wrong charges; no open hold within TTL + 10 s',
  inShortForm: true,
  async run(services, { isShort }) {
    const kills = isShort ? 4 : 20;
    services.upstream.reset({ words: words(20), tokenDelayMs: 10 });
    const stack = await startStack(services, { apis: 3, workers: [[], []] });
    const accounts = await Promise.all(Array.from({ length: 20 }, () => stack.openAccount('1000')));
    const log = new OutcomeLog();
    const tasks: ToldTasks = { accepted: [], refused: 0 };
    const target = { urls: () => stack.urls, accounts };
    const load = startLoad({ ...target, log, perSecond: isShort ? 60 : 100, streamShare: 0.5 });
    const orders = orderTasks({ ...target, perSecond: TASKS_PER_SECOND, count: kills * 8, told: tasks });
    for (let kill = 0; kill < kills; kill += 1) {
      await pause(300 + Math.random() * 400);
      await (kill % 5 < 3 ? stack.replaceApi(kill % 5) : stack.replaceWorker((kill % 5) - 3));
    }
    await Promise.all([load.stop(), orders]);
    if (isShort) {
      await expireHolds(stack.database.ownerUrl);
    }
    const taskAudit = await auditTasks(stack.database.ownerUrl, tasks, TTL_AND_MARGIN_MS);
    const books = await auditBooks(stack.database.ownerUrl, TTL_AND_MARGIN_MS);
    const { told, wrong } = await auditCalls(stack.database.ownerUrl, log.calls);
    await stack.stop();
    const isEnough = told >= kills * 10 && tasks.accepted.length >= kills;
    const enough = isEnough ? [] : [`only ${told} calls and ${tasks.accepted.length} orders were answered`];
    return {
      measured: `${kills} kills; ${told} of ${log.calls.length} calls answered and booked correctly, ${log.calls.length - told} cut off or rejected; ${tasks.accepted.length} tasks ended; ${wrong.length + taskAudit.wrong.length} wrong, 0 holds open`,
      failures: [...enough, ...wrong, ...taskAudit.wrong, ...books],
    };
  },
};

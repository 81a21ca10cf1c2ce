import { auditBooks, queryOwner } from '../audit.ts';
import { pause } from '../pause.ts';
import type { ChaosScenario } from '../scenario.types.ts';
import { SimulatedEngine } from '../simulated-engine.ts';
import { type ChaosAccount, type ChaosStack, startStack } from '../stack.ts';
import { auditTasks, orderTasks, type ToldTasks } from '../task-client.ts';

const HOST = 'host-1';
const PLACE = 1;
const TASKS = 60;
/** Time in ms for tasks claimed just before a drain to reach their engine, and for workers to learn that they may work again. */
const SETTLED_MS = 6_000;

export const drainedHost: ChaosScenario = {
  id: 'H3',
  fault: `one of two hosts is drained under ${TASKS} queued tasks, killed and restarted under ${TASKS} more, then resumed`,
  asked:
    '0 tasks start there while it is drained, running tasks end, 0 lost or charged twice; it works again afterwards',
  inShortForm: false,
  async run(services) {
    const engines = await Promise.all(
      [0, 1].map(async () => {
        const engine = await new SimulatedEngine().start();
        engine.media = services.engine.media;
        return engine;
      }),
    );
    const [drained, other] = engines;
    const stack = await startStack(services, {
      apis: 1,
      workers: [['--queues=postprocess,webhooks,maintenance'], ['--queues=generate'], ['--queues=generate']],
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the catalog's own notation for a variable
      catalog: { slots: 2, pollIntervalMs: 500, engineUrl: '${ENGINE_URL}' },
      settingsOf: ({ place }) => ({
        WORKER_NAME: `host-${place}`,
        ENGINE_URL: (place === PLACE ? drained! : other!).url,
      }),
    });
    const told: ToldTasks = { accepted: [], refused: 0 };
    const accounts = [await stack.openAccount('1000')];
    await order(stack, accounts, told);
    while (drained!.accepted === 0) {
      await pause(50);
    }
    await stack.admin(`/admin/v1/workers/${HOST}/drain`, {});
    await pause(SETTLED_MS);
    const begun = drained!.accepted;
    await stack.replaceWorker(PLACE);
    await order(stack, accounts, told);
    await untilDone(stack.database.ownerUrl);
    const meanwhile = drained!.accepted - begun;
    await stack.admin(`/admin/v1/workers/${HOST}/resume`, {});
    await pause(SETTLED_MS);
    await order(stack, accounts, told);
    const audit = await auditTasks(stack.database.ownerUrl, told, 120_000);
    const afterwards = drained!.accepted - begun - meanwhile;
    const books = await auditBooks(stack.database.ownerUrl, 1_000);
    await stack.stop();
    await Promise.all(engines.map((engine) => engine.close()));
    return {
      measured: `${begun} started there before, ${meanwhile} while it was drained, ${afterwards} afterwards; ${audit.succeeded} of ${told.accepted.length} completed and charged once, ${audit.failed} failed`,
      failures: [
        ...(meanwhile > 0 ? [`${meanwhile} tasks began on the drained host`] : []),
        ...(afterwards === 0 ? ['the host completed nothing after it was resumed'] : []),
        ...(audit.failed > 0 ? [`${audit.failed} tasks failed`] : []),
        ...audit.wrong,
        ...books,
      ],
    };
  },
};

async function order(stack: ChaosStack, accounts: readonly ChaosAccount[], told: ToldTasks): Promise<void> {
  await orderTasks({
    urls: () => stack.urls,
    ...{ accounts, told, perSecond: 100, count: TASKS, prompt: () => 'a lighthouse' },
  });
}

async function untilDone(ownerUrl: string): Promise<void> {
  while ((await queryOwner(ownerUrl, 'SELECT 1 FROM tasks WHERE completed_at IS NULL LIMIT 1')).length > 0) {
    await pause(100);
  }
}

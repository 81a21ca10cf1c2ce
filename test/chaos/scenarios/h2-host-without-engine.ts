import { auditBooks, queryOwner } from '../audit.ts';
import { pause } from '../pause.ts';
import type { ChaosScenario } from '../scenario.types.ts';
import { SimulatedEngine } from '../simulated-engine.ts';
import { type ChaosStack, startStack } from '../stack.ts';
import { auditTasks, orderTasks, type ToldTasks } from '../task-client.ts';

const HOSTS = 4;
const TASKS = 200;
const AWAY_MS = 60_000;
/** Maximum time for the same work beside a fourth host without an engine, relative to three hosts alone. */
const SLOWER_MAX = 1.3;

export const hostWithoutEngine: ChaosScenario = {
  id: 'H2',
  fault: 'four hosts of one pool, the engine of one is down for 60 s while 200 tasks run',
  asked: `0 tasks lost, failed or charged twice; the three others at most ${SLOWER_MAX} times as long as without the fourth; it works again afterwards`,
  inShortForm: false,
  async run(services) {
    const engines = await Promise.all(
      Array.from({ length: HOSTS }, async () => {
        const engine = await new SimulatedEngine().start();
        engine.media = services.engine.media;
        return engine;
      }),
    );
    const [broken] = engines;
    const urls = engines.map(({ url }) => url);
    const stack = await startStack(services, {
      apis: 1,
      workers: [['--queues=webhooks'], [], [], []],
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the catalog's own notation for a variable
      catalog: { slots: 2, pollIntervalMs: 500, engineUrl: '${ENGINE_URL}' },
      settingsOf: ({ place }) => ({ WORKER_NAME: `host-${place}`, ENGINE_URL: urls[place]! }),
    });
    const told: ToldTasks = { accepted: [], refused: 0 };
    const withoutMs = await doAll(stack, told);
    await broken!.goAway(true);
    const awaySince = Date.now();
    await stack.replaceWorker(0, []);
    const besideMs = await doAll(stack, told);
    await pause(AWAY_MS - (Date.now() - awaySince));
    await broken!.comeBack();
    await pause(5_000);
    await doAll(stack, told);
    const audit = await auditTasks(stack.database.ownerUrl, told, 120_000);
    const books = await auditBooks(stack.database.ownerUrl, 1_000);
    await stack.stop();
    await Promise.all(engines.map((engine) => engine.close()));
    const share = besideMs / withoutMs;
    const afterwards = broken!.accepted;
    return {
      measured: `${audit.succeeded} of ${told.accepted.length} completed and charged once, ${audit.failed} failed; ${TASKS} tasks in ${(withoutMs / 1_000).toFixed(1)} s by three hosts, in ${(besideMs / 1_000).toFixed(1)} s beside the fourth without an engine; ${afterwards} completed there afterwards`,
      failures: [
        ...(share > SLOWER_MAX ? [`the others were ${share.toFixed(2)} times as slow`] : []),
        ...(afterwards === 0 ? ['the fourth host completed nothing after its engine was back'] : []),
        ...(audit.failed > 0 ? [`${audit.failed} tasks failed`] : []),
        ...audit.wrong,
        ...books,
      ],
    };
  },
};

/** Returns the ms in which the hosts complete a set of tasks. */
async function doAll(stack: ChaosStack, told: ToldTasks): Promise<number> {
  const accounts = [await stack.openAccount('1000')];
  const startedAt = Date.now();
  await orderTasks({
    urls: () => stack.urls,
    ...{ accounts, told, perSecond: 200, count: TASKS, prompt: () => 'a lighthouse' },
  });
  while (await hasOpenTasks(stack.database.ownerUrl)) {
    await pause(100);
  }
  return Date.now() - startedAt;
}

async function hasOpenTasks(ownerUrl: string): Promise<boolean> {
  const rows = await queryOwner(ownerUrl, 'SELECT 1 FROM tasks WHERE completed_at IS NULL LIMIT 1');
  return rows.length > 0;
}

import { startFaultProxy } from '../../setup/fault-proxy.ts';
import { auditBooks } from '../audit.ts';
import { pause } from '../pause.ts';
import type { ChaosScenario } from '../scenario.types.ts';
import { startStack } from '../stack.ts';
import { auditTasks, orderTasks, type ToldTasks } from '../task-client.ts';

const KILLS = 20;
const TASKS = 300;
const AWAY_MS = 60_000;
/** Enough for the leases of the last killed worker and for the tasks that waited for them, in ms. */
const AUDIT_MS = 180_000;

export const remoteWorker: ChaosScenario = {
  id: 'H4',
  fault:
    'a worker without database is killed 20 times under 300 tasks, then its connection to the API drops everything for 60 s',
  asked: '0 tasks lost, failed or charged twice; the worker itself continues afterwards',
  inShortForm: false,
  async run(services) {
    let token = '';
    let port = 0;
    const stack = await startStack(services, {
      apis: 1,
      workers: [['--queues=postprocess,maintenance'], ['--queues=webhooks']],
      catalog: { slots: 4, pollIntervalMs: 200 },
      settingsOf: ({ kind, place }) =>
        kind === 'worker' && place === 1 && token !== ''
          ? {
              ...{ DATABASE_URL: '', REDIS_URL: '', TOLLGATE_SECRET: '', ADMIN_TOKEN: '' },
              ...{ WORKER_API: `http://127.0.0.1:${port}`, WORKER_TOKEN: token, WORKER_NAME: 'rented' },
            }
          : {},
    });
    const proxy = await startFaultProxy({
      ...{ targetHost: '127.0.0.1', targetPort: Number(new URL(stack.urls[0]!).port) },
      cutReplyChance: 0.01,
    });
    port = proxy.port;
    const body = { name: 'rented', pools: ['pool'] };
    token = (await stack.admin<{ token: string }>('/admin/v1/worker-tokens', body)).token;
    await stack.replaceWorker(1, ['--queues=generate']);
    const accounts = [await stack.openAccount('1000')];
    const told: ToldTasks = { accepted: [], refused: 0 };
    const order = (count: number, perSecond: number) =>
      orderTasks({ urls: () => stack.urls, accounts, told, perSecond, count, prompt: () => 'a lighthouse' });
    const orders = order(TASKS, 10);
    for (let kill = 0; kill < KILLS; kill += 1) {
      await pause(Math.random() * 1_500);
      await stack.replaceWorker(1);
    }
    await orders;
    const lastOrders = order(TASKS / 10, 10);
    await pause(1_000);
    proxy.freeze();
    await pause(AWAY_MS);
    proxy.thaw();
    await lastOrders;
    const audit = await auditTasks(stack.database.ownerUrl, told, AUDIT_MS);
    const books = await auditBooks(stack.database.ownerUrl, 1_000);
    const codes = await stack.stop();
    await proxy.close();
    return {
      measured: `${KILLS} kills, ${proxy.cuts()} answers cut off; ${audit.succeeded} of ${told.accepted.length} completed and charged once, ${audit.failed} failed`,
      failures: [
        ...(audit.failed > 0 ? [`${audit.failed} tasks failed`] : []),
        ...(codes.at(-1) === 0 ? [] : [`the worker ended with ${codes.at(-1)}`]),
        ...audit.wrong,
        ...books,
      ],
    };
  },
};

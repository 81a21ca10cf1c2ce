import { auditBooks, queryOwner } from '../audit.ts';
import { pause } from '../pause.ts';
import type { ChaosScenario } from '../scenario.types.ts';
import { startStack } from '../stack.ts';
import { auditTasks, orderTasks, type ToldTasks } from '../task-client.ts';

/** The lease of a claimed task, in ms. */
const LEASE_MS = 15_000;
const TASKS = 40;

export const frozenWorker: ChaosScenario = {
  id: 'B3',
  fault: 'a worker is stopped (SIGSTOP) for three leases in the middle of its tasks, then continues',
  asked: 'one charge per success; the resumed worker changes no row',
  inShortForm: false,
  async run(services) {
    const catalog = { slots: 10, pollIntervalMs: 1_500 };
    const stack = await startStack(services, { apis: 1, workers: [[], []], catalog });
    const { ownerUrl } = stack.database;
    const accounts = [await stack.openAccount('1000')];
    const told: ToldTasks = { accepted: [], refused: 0 };
    await orderTasks({ urls: () => stack.urls, accounts, told, perSecond: 40, count: TASKS });
    await pause(1_500);
    const frozen = stack.workers[0]!;
    frozen.signal('SIGSTOP');
    const [claims] = await queryOwner<{ held: number }>(
      ownerUrl,
      `SELECT count(*)::integer AS held FROM tasks WHERE worker LIKE $1 AND completed_at IS NULL`,
      [`%.${frozen.pid}`],
    );
    await pause(3 * LEASE_MS);
    const audit = await auditTasks(ownerUrl, told, 30_000);
    const before = await rows(ownerUrl);
    frozen.signal('SIGCONT');
    await pause(5_000);
    const after = await rows(ownerUrl);
    const again = await auditTasks(ownerUrl, told, 1_000);
    const books = await auditBooks(ownerUrl, 1_000);
    await stack.stop();
    const changed = [...after].filter(([id, version]) => before.get(id) !== version).length;
    const held = claims?.held ?? 0;
    return {
      measured: `${held} tasks held by it; ${again.succeeded} of ${told.accepted.length} succeeded and charged once, ${again.failed} failed without charge; ${changed} rows changed after it resumed`,
      failures: [
        ...(held === 0 ? ['inconclusive: the worker held no task when it stopped'] : []),
        ...(changed > 0 ? [`${changed} rows changed by the worker that woke up`] : []),
        ...audit.wrong,
        ...again.wrong,
        ...books,
      ],
    };
  },
};

/** Returns every task and generation with the version of its row. */
async function rows(ownerUrl: string): Promise<Map<string, string>> {
  const found = await queryOwner<{ id: string; version: string }>(
    ownerUrl,
    `SELECT 'task ' || id AS id, xmin::text AS version FROM tasks
      UNION ALL SELECT 'generation ' || id, xmin::text FROM generations`,
  );
  return new Map(found.map(({ id, version }) => [id, version]));
}

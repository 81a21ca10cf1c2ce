import { auditBooks, queryOwner } from '../audit.ts';
import { pause } from '../pause.ts';
import type { ChaosScenario } from '../scenario.types.ts';
import { startStack } from '../stack.ts';
import { auditTasks, orderTasks, type ToldTasks } from '../task-client.ts';

/** Some finish before the engine goes away; at least {@link WAITING_MIN} remain. */
const TASKS = 130;
const WAITING_MIN = 100;
const AWAY_MS = 60_000;

export const engineAway: ChaosScenario = {
  id: 'H1',
  fault:
    'the only engine is away (connection refused) for 60 s under 100 queued tasks, in the middle of its runs',
  asked: '0 tasks lost, 0 charged twice, every task completed after the engine is back',
  inShortForm: false,
  async run(services) {
    const catalog = { slots: 4, pollIntervalMs: 1_500 };
    const stack = await startStack(services, { apis: 1, workers: [[]], catalog });
    const { ownerUrl } = stack.database;
    const accounts = [await stack.openAccount('1000')];
    const told: ToldTasks = { accepted: [], refused: 0 };
    const ordering = { urls: () => stack.urls, accounts, told, perSecond: 20, count: TASKS };
    await orderTasks({ ...ordering, prompt: () => 'a lighthouse' });
    await services.engine.goAway(true);
    await pause(AWAY_MS);
    const [waiting] = await queryOwner<{ open: number; failed: number }>(
      ownerUrl,
      `SELECT count(*) FILTER (WHERE completed_at IS NULL)::integer AS open,
              count(*) FILTER (WHERE state = 'failed')::integer AS failed FROM tasks`,
    );
    await services.engine.comeBack();
    const audit = await auditTasks(ownerUrl, told, 120_000);
    const books = await auditBooks(ownerUrl, 1_000);
    await stack.stop();
    const open = waiting?.open ?? 0;
    return {
      measured: `${open} waited for it; ${audit.succeeded} of ${told.accepted.length} completed and charged once, ${audit.failed} failed; all ended ${(audit.endedAfterMs / 1_000).toFixed(1)} s after it was back`,
      failures: [
        ...(open < WAITING_MIN
          ? [`inconclusive: only ${open} tasks waited, ${told.refused} orders were refused`]
          : []),
        ...(audit.failed > 0 ? [`${audit.failed} tasks failed`] : []),
        ...audit.wrong,
        ...books,
      ],
    };
  },
};

import { spawn } from 'node:child_process';
import { eventually } from '../factories/eventually.ts';
import { orderImage } from '../operators/support/customer.ts';
import { compiled } from '../setup/compiled.ts';
import type { ConsoleServer } from './console-server.ts';

export const ALARM_MS_MAX = 25_000;

/** The last worker of a pool, killed while a task waits for it. */
export interface KilledWorker {
  /** Resolves with the ms until an operator page that nobody touched showed it. */
  readonly alarmMs: Promise<number>;
}

/** Kills the only worker of a pool, in front of an operator page without alarms. */
export async function killLastWorker(console: ConsoleServer): Promise<KilledWorker> {
  const { page, context, open, customer } = await console.signInOperator();
  const { money } = console.server.db.database;
  const unfinished = 'SELECT 1 FROM tasks WHERE completed_at IS NULL';
  // a task that waits for a worker of another kind would be an alarm too
  await eventually(
    async () => (await money.query(unfinished)).rowCount === 0,
    60_000,
    'the end of all tasks',
  );
  await console.stopWorker();
  const command = [await compiled('workers/main.ts'), '--queues=generate:local'];
  const worker = spawn(process.execPath, command, {
    env: { ...process.env, ...console.server.environment, WORKER_PORT: '0' },
    stdio: 'ignore',
  });
  try {
    const slots = "SELECT 1 FROM worker_slots WHERE queue = 'generate-local' AND slots > 0";
    await eventually(async () => (await money.query(slots)).rowCount === 1, 30_000, 'a worker that serves');
    await open('operator');
    await page.getByText('None.').waitFor();
  } finally {
    worker.kill('SIGKILL');
  }
  const diedAt = performance.now();
  await orderImage(console.server, customer);
  const told = async () => {
    await page.getByText(/^No workers .*generate-local/).waitFor({ timeout: ALARM_MS_MAX });
    const toldMs = performance.now() - diedAt;
    await page.getByText('NO WORKERS').waitFor();
    return toldMs;
  };
  return { alarmMs: told().finally(() => context.close()) };
}

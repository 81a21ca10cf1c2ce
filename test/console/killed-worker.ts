import { spawn } from 'node:child_process';
import { eventually } from '../factories/eventually.ts';
import { orderImage } from '../operators/support/customer.ts';
import { compiled } from '../setup/compiled.ts';
import type { ConsoleServer } from './console-server.ts';

export const ALARM_MS_MAX = 25_000;

/** Kills the only worker of a pool. Resolves with the ms until an untouched operator page shows it. */
export async function killLastWorker(console: ConsoleServer): Promise<number> {
  const { page, context, open, customer } = await console.signInOperator();
  await console.stopWorker();
  const command = [await compiled('workers/main.ts'), '--queues=generate:local'];
  const worker = spawn(process.execPath, command, {
    env: { ...process.env, ...console.server.environment, WORKER_PORT: '0' },
    stdio: 'ignore',
  });
  try {
    const slots = "SELECT 1 FROM worker_slots WHERE queue = 'generate-local' AND slots > 0";
    const { money } = console.server.db.database;
    await eventually(async () => (await money.query(slots)).rowCount === 1, 30_000, 'a worker that serves');
    await open('operator');
    await page.getByText('None.').waitFor({ timeout: 30_000 });
    worker.kill('SIGKILL');
    const diedAt = performance.now();
    await orderImage(console.server, customer);
    await page.getByText(/^No workers .*generate-local/).waitFor({ timeout: ALARM_MS_MAX });
    const toldMs = performance.now() - diedAt;
    await page.getByText('NO WORKERS').waitFor();
    return toldMs;
  } finally {
    worker.kill('SIGKILL');
    await context.close();
  }
}

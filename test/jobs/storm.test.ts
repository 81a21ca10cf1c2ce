import type { ChildProcess } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { eventually } from '../factories/eventually.ts';
import { endWorker, spawnTaskWorker } from '../factories/spawn-task-worker.ts';
import { customer, submitImage } from '../factories/task-order.ts';
import { FAST_LEASES } from '../factories/task-stack.ts';
import { TaskTest } from '../factories/task-test.ts';

const TASKS = 240;
let it: TaskTest;
let children: ChildProcess[] = [];

beforeAll(async () => {
  it = await TaskTest.open({ redisDatabase: 5, credits: '100.00' });
});

afterAll(async () => {
  await Promise.all(children.map((child) => endWorker(child, 'SIGKILL')));
  await it?.close();
});

async function spawn(): Promise<ChildProcess> {
  return await spawnTaskWorker({
    databaseUrl: it.database.url,
    redisUrl: it.redisUrl,
    prefix: it.stack.prefix,
    folder: it.folder,
    slots: 12,
    leases: FAST_LEASES,
  });
}

async function unfinished(): Promise<number> {
  const { rows } = await it.pool.query<{ n: number }>(
    'SELECT count(*)::integer AS n FROM tasks WHERE completed_at IS NULL',
  );
  return rows[0]?.n ?? 0;
}

test('ends every task once and charges only each success, once, with workers killed, Redis emptied and jobs doubled', async () => {
  const redis = new Redis(it.redisUrl);
  const who = [it.who, await customer(it.database.database, '100.00')];
  children = await Promise.all([spawn(), spawn()]);
  const ids: string[] = [];
  const { signal } = new AbortController();
  for (let index = 0; index < TASKS; index += 1) {
    const prompt = index % 10 === 0 ? 'run=5 fail=content_refused' : `run=${20 + (index % 7) * 10}`;
    const id = await submitImage(it.stack, who[index % 2] as (typeof who)[0], prompt);
    ids.push(id);
    if (index % 10 === 5) {
      void it.stack.services.generate.run(id, signal).catch(() => undefined);
      void it.stack.services.postprocess.run(id, signal).catch(() => undefined);
    }
    if (index % 80 === 60) {
      await redis.flushdb();
    }
    if (index === 70 || index === 150) {
      const victim = children.shift();
      await endWorker(victim as ChildProcess, 'SIGKILL');
      children.push(await spawn());
    }
  }
  await redis.flushdb();
  await eventually(
    async () => {
      await it.stack.services.sweeps.sweep();
      return (await unfinished()) === 0;
    },
    25_000,
    `the end of ${TASKS} tasks`,
  );
  await redis.quit();
  const { rows } = await it.pool.query<{ state: string; tasks: number; charges: number }>(
    `SELECT t.state, count(*)::integer AS tasks, count(l.reference)::integer AS charges
       FROM tasks t LEFT JOIN ledger_entries l ON l.reference = t.id AND l.type = 'usage_charge'
      WHERE t.id = ANY ($1) GROUP BY 1 ORDER BY 1`,
    [ids],
  );
  expect(rows).toEqual([
    { state: 'failed', tasks: TASKS / 10, charges: 0 },
    { state: 'succeeded', tasks: (TASKS * 9) / 10, charges: (TASKS * 9) / 10 },
  ]);
  expect(await it.openHolds()).toBe(0);
  expect(await it.database.violations()).toEqual([]);
});

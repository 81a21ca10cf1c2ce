import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { EVERY_TASK } from '../../src/tasks/task-reads.store.ts';
import { eventually } from '../factories/eventually.ts';
import { endWorker, spawnTaskWorker } from '../factories/spawn-task-worker.ts';
import { submitsOf } from '../factories/task-engine.ts';
import { submitImage } from '../factories/task-order.ts';
import { FAST_LEASES } from '../factories/task-stack.ts';
import { TaskTest } from '../factories/task-test.ts';

let it: TaskTest;
const children: ChildProcess[] = [];

beforeAll(async () => {
  it = await TaskTest.open({ redisDatabase: 4 });
});

afterEach(async () => {
  await Promise.all(children.splice(0).map((child) => endWorker(child, 'SIGKILL')));
});

afterAll(() => it?.close());

/** Waits until a task has ended, running the sweep that the schedule would run some seconds later. */
async function sweptToEnd(id: string) {
  await eventually(
    async () => {
      await it.stack.services.sweeps.sweep();
      return (await it.stack.reads.findTask(id, EVERY_TASK))?.completedAt;
    },
    30_000,
    `the end of task ${id}`,
  );
  return await it.ended(id);
}

async function worker(
  args: readonly string[] = [],
  engine: { paid?: boolean; recovers?: boolean } = {},
): Promise<ChildProcess> {
  const child = await spawnTaskWorker(
    {
      databaseUrl: it.database.url,
      redisUrl: it.redisUrl,
      prefix: it.stack.prefix,
      folder: it.folder,
      leases: FAST_LEASES,
      engine,
    },
    args,
  );
  children.push(child);
  return child;
}

test('lets another worker make the run of one killed in the middle: one result, one charge', async () => {
  const first = await worker();
  const id = await submitImage(it.stack, it.who, 'run=400', { seed: -1 });
  await eventually(async () => submitsOf(it.journal, id).length === 1);
  const second = worker();
  await endWorker(first, 'SIGKILL');
  await second;
  const { task, media } = await sweptToEnd(id);
  expect(task).toMatchObject({ state: 'succeeded', failures: 0 });
  expect(media).toHaveLength(1);
  expect(submitsOf(it.journal, id)).toEqual([1, 2]);
  expect(await it.charges(id)).toHaveLength(1);
  expect(await it.openHolds()).toBe(0);
});

test('finds the run of a worker killed right after a paid upstream accepted it, and never submits it twice', async () => {
  const engine = { paid: true, recovers: true };
  const first = await worker(['--queues=generate:gpu,maintenance'], engine);
  const id = await submitImage(it.stack, it.who, 'run=50 die');
  await once(first, 'exit');
  await worker([], engine);
  expect((await sweptToEnd(id)).task.state).toBe('succeeded');
  expect(submitsOf(it.journal, id)).toEqual([1]);
  expect(await it.charges(id)).toHaveLength(1);
});

test('lets another worker settle once after a kill between storing and settling, without asking the engine again', async () => {
  const victim = await spawnTaskWorker(
    {
      ...{ databaseUrl: it.database.url, redisUrl: it.redisUrl, prefix: it.stack.prefix, folder: it.folder },
      leases: FAST_LEASES,
      dieAfterFiles: 1,
    },
    ['--queues=postprocess'],
  );
  children.push(victim);
  const rest = it.stack.start('generate,maintenance');
  const id = await submitImage(it.stack, it.who, 'run=1');
  await once(victim, 'exit');
  expect(await it.charges(id)).toEqual([]);
  await worker(['--queues=postprocess']);
  const { task, media } = await sweptToEnd(id);
  expect(task).toMatchObject({ state: 'succeeded', failures: 1 });
  expect(media).toHaveLength(1);
  expect(submitsOf(it.journal, id)).toEqual([1]);
  expect(await it.charges(id)).toHaveLength(1);
  await rest.close();
});

test('stopped for three leases and woken: the result is the other worker’s, the sleeper writes nothing', async () => {
  const sleeper = await worker(['--queues=generate']);
  const rest = it.stack.start('maintenance,postprocess');
  const id = await submitImage(it.stack, it.who, 'run=300');
  await eventually(async () => submitsOf(it.journal, id).length === 1);
  sleeper.kill('SIGSTOP');
  await eventually(async () => {
    await it.stack.services.sweeps.sweep();
    return (await it.events(id)).includes('queued lease_lapsed');
  });
  await worker(['--queues=generate']);
  const { task } = await it.ended(id);
  const before = await it.pool.query('SELECT * FROM tasks WHERE id = $1', [id]);
  await new Promise((resolve) => setTimeout(resolve, 2 * FAST_LEASES.leaseMs));
  sleeper.kill('SIGCONT');
  // It is awake again once it has served another task.
  await endWorker(children.at(-1) as ChildProcess, 'SIGTERM');
  const other = await submitImage(it.stack, it.who, 'run=1');
  await it.ended(other);
  const after = await it.pool.query('SELECT * FROM tasks WHERE id = $1', [id]);
  expect(task.state).toBe('succeeded');
  expect(after.rows).toEqual(before.rows);
  expect(await it.charges(id)).toHaveLength(1);
  expect(await it.events(id)).toEqual(['queued', 'queued lease_lapsed', 'succeeded']);
  await rest.close();
});

test('on SIGTERM finishes what can be finished, gives back the rest, and exits cleanly', async () => {
  const engine = { recovers: true };
  const leaving = await worker([], engine);
  const short = await submitImage(it.stack, it.who, 'run=300');
  const long = await submitImage(it.stack, it.who, 'run=4000');
  await it.inState(long, 'generating');
  await it.inState(short, 'generating');
  const askedAt = Date.now();
  expect(await endWorker(leaving, 'SIGTERM')).toBe(0);
  expect(Date.now() - askedAt).toBeLessThan(15_000);
  const state = async (id: string) => (await it.stack.reads.findTask(id, EVERY_TASK))?.state;
  expect(['generated', 'succeeded']).toContain(await state(short));
  expect(await state(long)).toBe('queued');
  expect([...(await it.events(short)), ...(await it.events(long))]).toContain('queued shutdown');
  await worker([], engine);
  expect((await it.ended(long)).task.state).toBe('succeeded');
  expect((await it.ended(short)).task.state).toBe('succeeded');
});

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { EVERY_TASK } from '../../src/tasks/task-reads.store.ts';
import { eventually } from '../factories/eventually.ts';
import { seedsOf, submitsOf } from '../factories/task-engine.ts';
import { submitImage } from '../factories/task-order.ts';
import { TASK_CATALOG } from '../factories/task-stack.ts';
import { TaskTest } from '../factories/task-test.ts';

let it: TaskTest;

beforeAll(async () => {
  it = await TaskTest.open();
  it.stack.start();
});

afterAll(() => it?.close());

test('generates, post-processes and charges a submitted task once and gives it a URL', async () => {
  const id = await submitImage(it.stack, it.who, 'run=30', { seed: -1 });
  const { task, media } = await it.ended(id);
  expect(task).toMatchObject({ state: 'succeeded', progress: 1, generationRuns: 1, failures: 0 });
  expect(media).toEqual([
    {
      index: 0,
      type: 'png',
      ttlSeconds: 3600,
      content: expect.stringMatching(/^http:\/\/media\.test\/acct\//),
    },
  ]);
  expect(submitsOf(it.journal, id)).toEqual([1]);
  expect(seedsOf(it.journal, id)).toEqual([task.seed.toString()]);
  expect(await it.charges(id)).toEqual(['-5000000']);
  expect(await it.openHolds()).toBe(0);
});

test('reports the place of a task that waits inside its engine', async () => {
  const id = await submitImage(it.stack, it.who, 'run=400 place=4');
  await eventually(async () => (await it.stack.results.read(id, EVERY_TASK)).estimate.queuePosition === 4);
  expect((await it.ended(id)).estimate.queuePosition).toBeNull();
});

test('records the provider, its cost and the charge line on the generation and removes the prompt', async () => {
  const id = await submitImage(it.stack, it.who, 'run=1 canary-prompt');
  await it.ended(id);
  const { rows } = await it.pool.query(
    `SELECT g.provider, g.provider_cost, g.lines, g.status, t.parameters
       FROM generations g JOIN tasks t USING (id) WHERE id = $1`,
    [id],
  );
  expect(rows).toEqual([
    {
      provider: 'gpu',
      provider_cost: '7',
      lines: { image: '5000000' },
      status: 'completed',
      parameters: { width: 512, height: 512 },
    },
  ]);
});

test('never stores any of a prompt in Redis', async () => {
  const redis = new Redis(it.redisUrl);
  const ids = await Promise.all(
    Array.from({ length: 5 }, () =>
      submitImage(it.stack, it.who, 'run=20 canary-in-redis fail=content_refused'),
    ),
  );
  await Promise.all(ids.map((id) => it.ended(id)));
  const found: string[] = [];
  for (const key of await redis.keys(`*${it.stack.prefix}:*`)) {
    if ((await redis.type(key)) === 'hash') {
      found.push(JSON.stringify(await redis.hgetall(key)));
    }
  }
  await redis.quit();
  expect(found.join('')).toContain(ids[0]);
  expect(found.join('')).not.toContain('canary');
});

test('makes one run and one charge of a job that runs twice or many times at once', async () => {
  const id = await submitImage(it.stack, it.who, 'run=50');
  const { signal } = new AbortController();
  const outcomes = await Promise.all(
    Array.from({ length: 8 }, () => it.stack.services.generate.run(id, signal)),
  );
  await it.ended(id);
  const again = [
    await it.stack.services.generate.run(id, signal),
    await it.stack.services.postprocess.run(id, signal),
  ];
  expect(outcomes.filter(({ result }) => result === 'advanced').length).toBeLessThanOrEqual(1);
  expect(again).toEqual([{ result: 'skipped' }, { result: 'skipped' }]);
  expect(submitsOf(it.journal, id)).toHaveLength(1);
  expect(await it.charges(id)).toHaveLength(1);
});

test('removes raw files and work folders when the task has ended', async () => {
  const id = await submitImage(it.stack, it.who, 'run=5');
  await it.ended(id);
  // The charge comes before the cleanup: a customer does not wait for it.
  await eventually(async () => (await readdir(join(it.folder, 'work'))).length === 0);
  expect(await it.stack.storage.stat(`raw/${id}/1/0.png`)).toBeUndefined();
});

test('runs a video task the same way', async () => {
  const id = await submitImage(it.stack, it.who, 'run=5', {
    endpoint: '/v3/async/video-fast',
    model: TASK_CATALOG.orderable('video-fast', 'video', { allowedModels: null }),
    width: 1280,
    height: 720,
    steps: 20,
    seed: 9_999_999_999,
  });
  const { task, media } = await it.ended(id);
  expect(task).toMatchObject({ kind: 'video', state: 'succeeded', seed: 9_999_999_999n });
  expect(media[0]?.type).toBe('mp4');
  expect(await it.charges(id)).toEqual(['-300000000']);
});

test('reads base64 output from storage at each read', async () => {
  const id = await submitImage(it.stack, it.who, 'run=1', { base64Output: true, seed: 7 });
  const { media } = await it.ended(id);
  expect(media[0]?.ttlSeconds).toBe(0);
  expect(Buffer.from(media[0]?.content ?? '', 'base64').toString()).toBe('run=1 7 512x512');
});

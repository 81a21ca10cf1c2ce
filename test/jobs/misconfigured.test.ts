import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { comfyUiKind } from '../../src/engines/comfyui/comfyui-engine.ts';
import { EVERY_TASK } from '../../src/tasks/task-reads.store.ts';
import { ComfyUiServer } from '../factories/engine-comfyui.ts';
import { eventually } from '../factories/eventually.ts';
import { submitImage } from '../factories/task-order.ts';
import { TaskTest } from '../factories/task-test.ts';

const comfy = new ComfyUiServer();
let it: TaskTest;

beforeAll(async () => {
  await comfy.start();
  const workflow = {
    ...{ kind: 'image', file: 'tiny.json' },
    parameters: { prompt: '6.inputs.text', seed: '3.inputs.seed' },
  };
  const engine = comfyUiKind('test/engines/workflows').create({
    ...{ id: 'gpu', kind: 'comfyui', base_url: comfy.url, poll_interval_ms: 10 },
    workflows: { 'z-image-turbo': workflow },
  });
  it = await TaskTest.open({ redisDatabase: 12, engine, worker: 'near.1' });
  it.stack.start();
});

afterAll(async () => {
  await it?.close();
  await comfy.close();
});

async function reported(): Promise<string[]> {
  const { rows } = await it.pool.query('SELECT misconfigured FROM workers');
  return rows.flatMap((row: { misconfigured: string[] }) => row.misconfigured);
}

/** Makes tasks that wait for an operator due again. */
async function waitNoLonger(): Promise<void> {
  await it.pool.query("UPDATE tasks SET not_before = clock_timestamp() WHERE state = 'queued'");
}

test('rests an engine that rejects everything, fails no task for it, and rejects orders until it is fixed', async () => {
  comfy.reset('refuses_content');
  const ids = await Promise.all(
    ['one', 'two', 'three', 'four'].map((prompt) => submitImage(it.stack, it.who, prompt)),
  );
  await eventually(
    async () => (await reported()).includes('gpu'),
    30_000,
    'the report of a misconfigured engine',
  );
  const refused = await eventually(
    () =>
      submitImage(it.stack, it.who, 'five').then(
        (id) => void ids.push(id),
        (error: unknown) => error,
      ),
    30_000,
    'the rejection of an order',
  );
  expect(refused).toMatchObject({ code: 'service_unavailable', retryAfterSeconds: 60 });
  expect(await it.openHolds()).toBe(ids.length);
  for (const id of ids) {
    expect((await it.stack.reads.findTask(id, EVERY_TASK))?.completedAt).toBeNull();
  }
  comfy.reset();
  it.stack.rests.retryMisconfigured();
  await waitNoLonger();
  for (const id of ids) {
    expect((await it.ended(id)).task.state).toBe('succeeded');
    expect(await it.charges(id)).toHaveLength(1);
  }
  expect(await reported()).toEqual([]);
  ids.push(await eventually(() => submitImage(it.stack, it.who, 'six').catch(() => undefined)));
  expect((await it.ended(ids.at(-1) ?? '')).task.state).toBe('succeeded');
});

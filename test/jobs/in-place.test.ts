import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import type { EngineOutput } from '../../src/engines/engine.types.ts';
import { bytesOf } from '../../src/lib/file-content.ts';
import { eventually } from '../factories/eventually.ts';
import { ScriptedEngine, submitsOf } from '../factories/task-engine.ts';
import { submitImage } from '../factories/task-order.ts';
import { copyThrough } from '../factories/task-stack.ts';
import { TaskTest, type TaskTestOptions } from '../factories/task-test.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';

const PLACES = { places: 1, bytesMax: 1_000_000, waitMs: 60_000 };
const { signal } = new AbortController();

let it: TaskTest;

afterEach(() => it?.close());

/** Post-processing that waits until it is released, however often it is called. */
function gate() {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  let entered = 0;
  return {
    open: () => open(),
    entered: () => entered,
    postprocess: (async (job) => {
      entered += 1;
      await opened;
      return await copyThrough(job);
    }) satisfies TaskTestOptions['postprocess'],
  };
}

/** Returns its output from memory, like engines over HTTP. */
class EngineInMemory extends ScriptedEngine {
  override async collect(...order: Parameters<ScriptedEngine['collect']>): Promise<EngineOutput[]> {
    const made = await super.collect(...order);
    return await Promise.all(made.map(async ({ index, file }) => ({ index, file: await bytesOf(file) })));
  }
}

async function postprocessJobs(): Promise<number> {
  const { rows } = await it.pool.query<{ count: string }>(
    "SELECT count(*) FROM tasks WHERE state IN ('generated', 'processing')",
  );
  return Number(rows[0]?.count);
}

/** Returns how often a task was claimed for generation or post-processing. */
async function claimsOf(id: string): Promise<number> {
  const { rows } = await it.pool.query<{ attempt: number }>('SELECT attempt FROM tasks WHERE id = $1', [id]);
  return rows[0]?.attempt ?? 0;
}

test('finishes an image where it was generated: one claim, one charge, no raw file, no folder left', async () => {
  it = await TaskTest.open({ inPlace: PLACES });
  it.stack.start('generate,maintenance');
  const id = await submitImage(it.stack, it.who);
  const { task, media } = await it.ended(id);
  expect(task).toMatchObject({ state: 'succeeded', progress: 1, generationRuns: 1, failures: 0 });
  expect(await claimsOf(id)).toBe(1);
  expect(media).toHaveLength(1);
  expect(await it.charges(id)).toEqual(['-5000000']);
  expect(await it.openHolds()).toBe(0);
  await eventually(async () => (await readdir(join(it.folder, 'work'))).length === 0);
  expect(await readdir(join(it.folder, 'media'))).not.toContain('raw');
});

test('frees the slot of the engine before the work on the files begins', async () => {
  const held = gate();
  it = await TaskTest.open({ inPlace: { ...PLACES, places: 2 }, slots: 1, postprocess: held.postprocess });
  it.stack.start('generate,maintenance');
  const ids = [await submitImage(it.stack, it.who), await submitImage(it.stack, it.who)];
  await eventually(async () => held.entered() === 2);
  held.open();
  for (const id of ids) {
    expect((await it.ended(id)).task.state).toBe('succeeded');
    expect(await claimsOf(id)).toBe(1);
  }
});

test.each([
  ['no place becomes free in time', { ...PLACES, waitMs: 1 }],
  ['memory is taken by others', { ...PLACES, places: 2, bytesMax: 1 }],
])('takes the task through the queue when %s', async (_, inPlace) => {
  const held = gate();
  const engine = new EngineInMemory(join(temporaryFolder('in-place'), 'journal'));
  it = await TaskTest.open({ inPlace, engine, postprocess: held.postprocess });
  const ids = await Promise.all([0, 1, 2].map(() => submitImage(it.stack, it.who)));
  const outcomes = await Promise.all(ids.map((id) => it.stack.services.generate.run(id, signal)));
  expect(outcomes).toEqual(ids.map(() => ({ result: 'advanced' })));
  expect(await postprocessJobs()).toBe(2);
  held.open();
  it.stack.start('postprocess,maintenance');
  const tasks = await Promise.all(ids.map(async (id) => (await it.ended(id)).task));
  expect(tasks.map(({ generationRuns }) => generationRuns)).toEqual([1, 1, 1]);
  expect((await Promise.all(ids.map(claimsOf))).sort()).toEqual([1, 2, 2]);
  await it.stack.inPlace?.idle();
  const next = await submitImage(it.stack, it.who);
  await it.stack.services.generate.run(next, signal);
  expect((await it.ended(next)).task.state).toBe('succeeded');
  expect(await claimsOf(next)).toBe(1);
});

test('lets post-processing make the files that could not be made in place', async () => {
  let calls = 0;
  it = await TaskTest.open({
    inPlace: PLACES,
    postprocess: async (job) => {
      calls += 1;
      if (calls === 1) {
        throw new Error('the disk is full');
      }
      return await copyThrough(job);
    },
  });
  it.stack.start();
  const id = await submitImage(it.stack, it.who);
  expect((await it.ended(id)).task).toMatchObject({ state: 'succeeded', generationRuns: 1, failures: 0 });
  expect(await claimsOf(id)).toBe(2);
  expect(submitsOf(it.journal, id)).toEqual([1]);
  expect(await it.charges(id)).toHaveLength(1);
});

test('stores paid output before anything else happens to it', async () => {
  const engine = new ScriptedEngine(join(temporaryFolder('in-place'), 'journal'), { paid: true });
  it = await TaskTest.open({ inPlace: PLACES, engine });
  const id = await submitImage(it.stack, it.who);
  expect(await it.stack.services.generate.run(id, signal)).toEqual({ result: 'advanced' });
  await it.inState(id, 'generated');
  expect(await it.stack.storage.stat(`raw/${id}/1/0.png`)).toBeDefined();
});

test('ends nothing after the claim was lost meanwhile: one result, one charge', async () => {
  const held = gate();
  it = await TaskTest.open({ inPlace: { ...PLACES, places: 2 }, postprocess: held.postprocess });
  const id = await submitImage(it.stack, it.who);
  expect(await it.stack.services.generate.run(id, signal)).toEqual({ result: 'advanced' });
  await it.pool.query("UPDATE tasks SET lease_until = clock_timestamp() - interval '1 s' WHERE id = $1", [
    id,
  ]);
  await it.stack.services.sweeps.sweep();
  await it.inState(id, 'queued');
  const heir = await it.stack.services.generate.run(id, signal);
  held.open();
  it.stack.start();
  const { task, media } = await it.ended(id);
  await it.stack.inPlace?.idle();
  expect(heir).toEqual({ result: 'advanced' });
  expect(task).toMatchObject({ state: 'succeeded', failures: 0 });
  expect(media).toHaveLength(1);
  expect(await it.charges(id)).toHaveLength(1);
});

test('lets a stopping worker finish what it has in hand', async () => {
  const held = gate();
  it = await TaskTest.open({ inPlace: PLACES, postprocess: held.postprocess });
  const worker = it.stack.start('generate,maintenance');
  const id = await submitImage(it.stack, it.who);
  await eventually(async () => held.entered() === 1);
  const closed = worker.close();
  held.open();
  await closed;
  expect((await it.stack.results.read(id, { accountId: null, apiKeyId: null })).task.state).toBe('succeeded');
});

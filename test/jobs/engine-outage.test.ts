import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { comfyUiKind } from '../../src/engines/comfyui/comfyui-engine.ts';
import type { Engine } from '../../src/engines/engine.types.ts';
import { sdCppKind } from '../../src/engines/sdcpp/sdcpp-engine.ts';
import { ComfyUiServer } from '../factories/engine-comfyui.ts';
import { SdServer } from '../factories/engine-sdcpp.ts';
import { eventually } from '../factories/eventually.ts';
import { submitImage } from '../factories/task-order.ts';
import { createTaskStack, type TaskStack } from '../factories/task-stack.ts';
import { TaskTest } from '../factories/task-test.ts';

const near = new SdServer();
const far = new SdServer();
let it: TaskTest;
let others: TaskStack[] = [];

beforeEach(async () => {
  others = [];
  await Promise.all([near.start(), far.start()]);
  near.reset();
  far.reset();
  near.isFrozen = false;
  await open(engineAt(near.url));
});

afterEach(async () => {
  await Promise.all(others.map((stack) => stack.close()));
  await it?.close();
  await Promise.allSettled([near.close(), far.close()]);
});

async function open(engine: Engine, slots = 2): Promise<void> {
  it = await TaskTest.open({ redisDatabase: 11, slots, worker: 'near.1', engine });
}

/**
 * Lets the near host take its next job later than the far one. Redis serves who waits longest, and in one process both begin to wait in the
 * same turn of the event loop, always in the same order.
 */
function letFarHostWaitFirst(): void {
  const { claims } = it.stack;
  const claim = claims.claim.bind(claims);
  jest.spyOn(claims, 'claim').mockImplementation(async (...order) => {
    const task = await claim(...order);
    await (task ? undefined : pause(100));
    return task;
  });
}

function engineAt(url: string, timeouts = {}): Engine {
  return sdCppKind.create({ id: 'gpu', kind: 'sdcpp', base_url: url, poll_interval_ms: 10, timeouts });
}

/** Sets up a second host with its own engine. The returned function starts it. */
async function farHost(): Promise<() => Promise<void>> {
  const stack = await createTaskStack({
    ...{ database: it.database.database, databaseUrl: it.database.url, redisUrl: it.redisUrl },
    ...{ folder: it.folder, prefix: it.stack.prefix, slots: 2, worker: 'far.1', engine: engineAt(far.url) },
  });
  others.push(stack);
  return async () => {
    stack.start('generate');
    await eventually(async () => (await hostsOfPool()).includes('far.1'));
  };
}

async function hostsOfPool(): Promise<string[]> {
  const { rows } = await it.pool.query<{ worker: string }>(
    "SELECT worker FROM worker_slots WHERE queue = 'generate-gpu' ORDER BY worker",
  );
  return rows.map(({ worker }) => worker);
}

async function order(count: number): Promise<string[]> {
  return await Promise.all(Array.from({ length: count }, () => submitImage(it.stack, it.who, 'a house')));
}

async function countersOf(id: string): Promise<{ failures: number; interruptions: number; runs: number }> {
  const { rows } = await it.pool.query(
    'SELECT failures, interruptions, generation_runs AS runs FROM tasks WHERE id = $1',
    [id],
  );
  return rows[0];
}

test('costs tasks nothing but time while an engine is away', async () => {
  await near.goAway(true);
  it.stack.start();
  const ids = await order(6);
  await eventually(async () => (await hostsOfPool()).length === 0, 30_000, 'an empty pool');
  expect(await it.openHolds()).toBe(ids.length);
  await near.comeBack();
  for (const id of ids) {
    expect((await it.ended(id)).task.state).toBe('succeeded');
    expect(await countersOf(id)).toEqual({ failures: 0, interruptions: 0, runs: 1 });
    expect(await it.charges(id)).toHaveLength(1);
  }
  expect(await hostsOfPool()).toEqual(['near.1']);
});

test('lets the other host do the work when one of two has no engine', async () => {
  await near.goAway(true);
  it.stack.start();
  await (await farHost())();
  await eventually(
    async () => (await hostsOfPool()).join() === 'far.1',
    30_000,
    'a pool with only the far host',
  );
  const ids = await order(6);
  for (const id of ids) {
    expect((await it.ended(id)).task).toMatchObject({ state: 'succeeded', failures: 0 });
  }
  expect(far.accepted).toBe(ids.length);
});

test('makes a run again when its engine died with it, and counts an interruption', async () => {
  it.stack.start();
  near.reset('never_finishes');
  const [id = ''] = await order(1);
  await eventually(async () => near.accepted === 1);
  await near.goAway(true);
  await eventually(async () => (await hostsOfPool()).length === 0, 30_000, 'an empty pool');
  near.reset();
  await near.comeBack();
  expect((await it.ended(id)).task.state).toBe('succeeded');
  expect(await countersOf(id)).toMatchObject({ failures: 0, interruptions: 1 });
  expect(await it.charges(id)).toHaveLength(1);
});

test('leaves a hanging engine after the first missing answer', async () => {
  await it.close();
  await open(engineAt(near.url, { first_byte_ms: 500 }));
  it.stack.start();
  near.reset('never_finishes');
  const [id = ''] = await order(1);
  await eventually(async () => near.requests.some(({ path }) => path.includes('/jobs/')));
  near.isFrozen = true;
  const before = near.requests.length;
  await eventually(async () => (await hostsOfPool()).length === 0, 30_000, 'an empty pool');
  // the host leaves the pool first, then gives the task back
  await eventually(async () => (await it.events(id)).includes('queued engine_not_answering'));
  const polls = near.requests.slice(before).filter(({ path }) => path.includes('/jobs/'));
  // one whose kept connection broke is sent again on a connection of its own
  const kept = polls.map(({ headers }) => headers.connection).filter((connection) => connection !== 'close');
  expect({ more: kept.slice(1), events: await it.events(id) }).toMatchObject({ more: [] });
  expect(polls.length).toBeLessThanOrEqual(kept.length + 1);
  near.isFrozen = false;
  near.reset();
  expect((await it.ended(id)).task.state).toBe('succeeded');
  expect(await countersOf(id)).toMatchObject({ failures: 0, interruptions: 1 });
});

test('tries a task that failed on one host on another', async () => {
  await it.close();
  await open(engineAt(near.url), 1);
  letFarHostWaitFirst();
  near.reset('fails');
  // prepared beforehand: each second without it doubles the pause before the next attempt
  const startFarHost = await farHost();
  it.stack.start();
  const ids = await order(4);
  await eventually(async () => near.accepted > 0);
  await startFarHost();
  for (const id of ids) {
    expect((await it.ended(id)).task.state).toBe('succeeded');
    expect((await countersOf(id)).failures).toBeLessThanOrEqual(2);
  }
  expect(near.accepted + far.accepted).toBeLessThanOrEqual(3 * ids.length);
});

test('retries a run without enough memory once after the engine has freed it, then fails it with that error', async () => {
  const comfy = await new ComfyUiServer().start();
  await it.close();
  comfy.reset('fails');
  await open(comfyAt(comfy.url));
  it.stack.start();
  const [id = ''] = await order(1);
  const { task } = await it.ended(id);
  expect(task).toMatchObject({ state: 'failed', errorCode: 'out_of_memory', failures: 1 });
  expect([comfy.freed, comfy.accepted]).toEqual([1, 2]);
  expect(await it.charges(id)).toEqual([]);
  await comfy.close();
});

function comfyAt(url: string): Engine {
  const workflow = {
    ...{ kind: 'image', file: 'tiny.json' },
    parameters: { prompt: '6.inputs.text', seed: '3.inputs.seed' },
  };
  return comfyUiKind('test/engines/workflows').create({
    ...{ id: 'gpu', kind: 'comfyui', base_url: url, poll_interval_ms: 10 },
    workflows: { 'z-image-turbo': workflow },
  });
}

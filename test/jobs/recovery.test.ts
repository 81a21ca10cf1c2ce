import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { ScriptedEngine, submitsOf } from '../factories/task-engine.ts';
import { submitImage } from '../factories/task-order.ts';
import { TaskTest } from '../factories/task-test.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';

const folder = temporaryFolder('recovery');
const journal = join(folder, 'journal');
const { signal } = new AbortController();
const open: TaskTest[] = [];

let blind: TaskTest;
let sighted: TaskTest;
let local: TaskTest;

beforeAll(async () => {
  blind = await openWith({ paid: true, recovers: false });
  sighted = await openWith({ paid: true, recovers: true });
  local = await openWith({ paid: false, recovers: false });
});

afterAll(async () => {
  await Promise.all(open.map((it) => it.close()));
});

afterEach(() => rmSync(journal, { force: true }));

async function openWith(options: { paid: boolean; recovers: boolean }): Promise<TaskTest> {
  const it = await TaskTest.open({ engine: new ScriptedEngine(journal, options) });
  open.push(it);
  return it;
}

/** Takes the task away from its owner, as after a crash. */
async function crash(it: TaskTest, id: string): Promise<void> {
  await it.pool.query('UPDATE tasks SET lease_until = clock_timestamp() WHERE id = $1', [id]);
  await it.stack.services.sweeps.sweep();
}

async function dueNow(it: TaskTest, id: string): Promise<void> {
  await it.pool.query('UPDATE tasks SET not_before = clock_timestamp() WHERE id = $1', [id]);
}

test('never resends a task to a paid upstream whose answer was lost and that cannot be queried', async () => {
  const id = await submitImage(blind.stack, blind.who, 'run=1 lose=accepted');
  await blind.stack.services.generate.run(id, signal);
  await dueNow(blind, id);
  await blind.stack.services.generate.run(id, signal);
  const { task } = await blind.ended(id);
  expect(task).toMatchObject({ state: 'failed', errorCode: 'submit_unconfirmed' });
  expect(submitsOf(journal, id)).toEqual([1]);
  expect(await blind.charges(id)).toEqual([]);
});

test('continues the existing run at an upstream that can be queried', async () => {
  const id = await submitImage(sighted.stack, sighted.who, 'run=1 lose=accepted');
  await sighted.stack.services.generate.run(id, signal);
  await dueNow(sighted, id);
  expect(await sighted.stack.services.generate.run(id, signal)).toEqual({ result: 'advanced' });
  expect(submitsOf(journal, id)).toEqual([1]);
});

test('sends the task to an upstream that can be queried and does not know it', async () => {
  const id = await submitImage(sighted.stack, sighted.who, 'run=1');
  await sighted.stack.claims.claim(id, 'generating', 'dead', 1_000);
  await sighted.stack.claims.markSubmitting(id, 1, 'gpu');
  await crash(sighted, id);
  expect(await sighted.stack.services.generate.run(id, signal)).toEqual({ result: 'advanced' });
  expect(submitsOf(journal, id)).toEqual([2]);
});

test('polls a stored reference in the next attempt instead of submitting again', async () => {
  const id = await submitImage(sighted.stack, sighted.who, 'run=300');
  const first = sighted.stack.services.generate.run(id, signal);
  await sighted.inState(id, 'generating');
  sighted.stack.leases.abortAll('claim_lost');
  expect(await first).toEqual({ result: 'claim_lost' });
  await crash(sighted, id);
  expect(await sighted.stack.services.generate.run(id, signal)).toEqual({ result: 'advanced' });
  expect(submitsOf(journal, id)).toEqual([1]);
});

test('gives the task of a stopping process back at once, without a failure, and the run continues', async () => {
  const id = await submitImage(sighted.stack, sighted.who, 'run=80');
  const first = sighted.stack.services.generate.run(id, signal);
  await sighted.inState(id, 'generating');
  sighted.stack.leases.abortAll('shutdown');
  expect(await first).toEqual({ result: 'returned' });
  expect(await sighted.stack.services.generate.run(id, signal)).toEqual({ result: 'advanced' });
  const { rows } = await sighted.pool.query('SELECT failures, attempt FROM tasks WHERE id = $1', [id]);
  expect(rows).toEqual([{ failures: 0, attempt: 2 }]);
  expect(submitsOf(journal, id)).toEqual([1]);
});

test('fails a paid run the upstream has forgotten, free of charge, and simply repeats a local one', async () => {
  for (const [it, submits, state] of [
    [blind, [], 'failed'],
    [local, [2], 'generated'],
  ] as const) {
    const id = await submitImage(it.stack, it.who, 'run=1');
    await it.stack.claims.claim(id, 'generating', 'dead', 1_000);
    await it.stack.claims.storeReference(id, 1, 'gpu', 'forgotten');
    await crash(it, id);
    await it.stack.services.generate.run(id, signal);
    await it.inState(id, state);
    expect(submitsOf(journal, id)).toEqual(submits);
  }
});

test('runs a local task again with the same seed after a crash before the submit', async () => {
  const id = await submitImage(local.stack, local.who, 'run=1', { seed: -1 });
  await local.stack.claims.claim(id, 'generating', 'dead', 1_000);
  await crash(local, id);
  expect(await local.stack.services.generate.run(id, signal)).toEqual({ result: 'advanced' });
  expect(submitsOf(journal, id)).toEqual([2]);
});

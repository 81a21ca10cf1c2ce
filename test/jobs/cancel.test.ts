import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { createCancelPublisher } from '../../queues/cancel-channel.ts';
import { createProducerConnection } from '../../queues/connection.ts';
import { eventually } from '../factories/eventually.ts';
import { ScriptedEngine, submitsOf } from '../factories/task-engine.ts';
import { submitImage } from '../factories/task-order.ts';
import { TaskTest } from '../factories/task-test.ts';

let it: TaskTest;
let stubborn: TaskTest;
/** Its engine can stop a run, and bills one that is done. */
let sold: TaskTest;
/** Its heartbeats are too slow to report anything within a test. */
let patient: TaskTest;

beforeAll(async () => {
  it = await TaskTest.open();
  patient = await TaskTest.open({ leases: { leaseMs: 180_000, heartbeatMs: 60_000 } });
  stubborn = await TaskTest.open({
    engine: new ScriptedEngine('/dev/null', { cancelRunning: false, paid: true }),
  });
  sold = await TaskTest.open({ engine: new ScriptedEngine('/dev/null', { paid: true }) });
});

afterAll(async () => {
  await it?.close();
  await stubborn?.close();
  await sold?.close();
  await patient?.close();
});

let stop: () => Promise<void> = async () => undefined;
afterEach(() => stop());

function start(test: TaskTest, queues?: string): void {
  const running = test.stack.start(queues);
  stop = async () => {
    stop = async () => undefined;
    await running.close();
  };
}

async function cancel(test: TaskTest, id: string) {
  return await test.stack.cancels.cancel(id, { accountId: test.who.accountId, apiKeyId: null });
}

test('ends a waiting task at once, releases its hold and never runs it', async () => {
  const id = await submitImage(it.stack, it.who, 'run=1');
  expect(await it.openHolds()).toBe(1);
  expect(await cancel(it, id)).toBe('canceled');
  expect(await it.openHolds()).toBe(0);
  const { signal } = new AbortController();
  expect(await it.stack.services.generate.run(id, signal)).toEqual({ result: 'skipped' });
  expect(submitsOf(it.journal, id)).toEqual([]);
  expect(await cancel(it, id)).toBe('canceled');
});

test('stops a running task by a message over Redis, at no cost', async () => {
  start(patient);
  const id = await submitImage(patient.stack, patient.who, 'run=60000');
  await patient.inState(id, 'generating');
  const connection = createProducerConnection(patient.redisUrl, () => undefined);
  await eventually(async () => connection.status === 'ready');
  expect(await cancel(patient, id)).toBe('requested');
  await createCancelPublisher(connection, patient.stack.prefix).publish(id);
  const { task } = await patient.ended(id);
  connection.disconnect();
  expect(task).toMatchObject({ state: 'canceled', errorCode: 'task_canceled' });
  expect(await patient.charges(id)).toEqual([]);
});

test('reports the cancel with the next heartbeat when the message is missing', async () => {
  start(it);
  const id = await submitImage(it.stack, it.who, 'run=60000');
  await it.inState(id, 'generating');
  expect(await cancel(it, id)).toBe('requested');
  expect((await it.ended(id, 2_000)).task.state).toBe('canceled');
});

test('cancels a generated task at once and never post-processes it', async () => {
  start(it, 'generate');
  const id = await submitImage(it.stack, it.who, 'run=1');
  const { signal } = new AbortController();
  await it.stack.services.generate.run(id, signal);
  await it.inState(id, 'generated');
  expect(await cancel(it, id)).toBe('canceled');
  expect(await it.stack.services.postprocess.run(id, signal)).toEqual({ result: 'skipped' });
  expect(await it.charges(id)).toEqual([]);
});

test.each(['stubborn', 'sold'])('delivers and charges a run that is done and billed (%s)', async (name) => {
  const test = name === 'sold' ? sold : stubborn;
  const id = await submitImage(test.stack, test.who, 'run=1');
  await test.stack.services.generate.run(id, new AbortController().signal);
  await test.inState(id, 'generated');
  await expect(cancel(test, id)).rejects.toMatchObject({
    code: 'task_not_cancelable',
    message: 'The task cannot be canceled: its run is done, and its files follow.',
  });
  start(test);
  expect((await test.ended(id)).task.state).toBe('succeeded');
  expect(await test.charges(id)).toHaveLength(1);
});

test('cannot cancel what the engine cannot stop, and charges it when it is done', async () => {
  start(stubborn);
  const id = await submitImage(stubborn.stack, stubborn.who, 'run=150');
  await stubborn.inState(id, 'generating');
  await expect(cancel(stubborn, id)).rejects.toMatchObject({ code: 'task_not_cancelable', status: 409 });
  expect((await stubborn.ended(id)).task.state).toBe('succeeded');
  expect(await stubborn.charges(id)).toHaveLength(1);
  await expect(cancel(stubborn, id)).rejects.toMatchObject({ code: 'task_not_cancelable' });
});

test('does not find the task of another account', async () => {
  const id = await submitImage(it.stack, it.who, 'run=1');
  await expect(
    it.stack.cancels.cancel(id, { accountId: stubborn.who.accountId, apiKeyId: null }),
  ).rejects.toMatchObject({ code: 'task_not_found' });
  await cancel(it, id);
});

test('finishes a cancel in the sweep when its process died halfway', async () => {
  const id = await submitImage(it.stack, it.who, 'run=1');
  await it.pool.query('UPDATE tasks SET cancel_requested_at = clock_timestamp() WHERE id = $1', [id]);
  await it.stack.services.sweeps.sweep();
  expect((await it.ended(id)).task.state).toBe('canceled');
});

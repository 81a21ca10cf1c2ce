import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ZERO_USD } from '../../src/lib/money.ts';
import type { ClaimedTask } from '../../src/tasks/task-claims.store.ts';
import { EVERY_TASK } from '../../src/tasks/task-reads.store.ts';
import { eventually } from '../factories/eventually.ts';
import { submitImage } from '../factories/task-order.ts';
import { TaskTest } from '../factories/task-test.ts';

let it: TaskTest;

beforeAll(async () => {
  it = await TaskTest.open();
});

afterAll(() => it?.close());

const RUN = { outputs: [], engineId: 'gpu', model: 'm', latencyMs: 1, cost: null };

async function claim(id: string, to: 'generating' | 'processing', leaseMs = 60_000): Promise<ClaimedTask> {
  const claimed = await it.stack.claims.claim(id, to, 'test', leaseMs);
  if (!claimed) {
    throw new Error(`task ${id} could not be claimed`);
  }
  return claimed;
}

async function lapse(id: string): Promise<void> {
  await it.pool.query("UPDATE tasks SET lease_until = clock_timestamp() - interval '1 ms' WHERE id = $1", [
    id,
  ]);
  await it.stack.services.sweeps.sweep();
}

function fenceOf({ attempt }: ClaimedTask) {
  return { attempt, from: ['processing'] as const };
}

async function row(id: string): Promise<unknown> {
  const { rows } = await it.pool.query('SELECT * FROM tasks WHERE id = $1', [id]);
  return rows[0];
}

/** Tries every write a worker can make under its claim. Each must report that the claim is over. */
async function writeAll(claimed: ClaimedTask): Promise<unknown[]> {
  const { id, attempt } = claimed;
  const { claims, endings } = it.stack;
  const charge = { amount: claimed.charge, lines: { image: claimed.charge } };
  return [
    await claims.renew([{ id, attempt, progress: 0.9 }], 60_000),
    await claims.findLease(id, attempt),
    await claims.markSubmitting(id, attempt, 'gpu'),
    await claims.storeReference(id, attempt, 'gpu', 'zombie'),
    await claims.markGenerated(id, attempt, RUN, 0.9),
    await claims.giveBack({ id, attempt, failures: 1, waitMs: 0, forgetRun: true, reason: 'zombie' }),
    await endings.fail(claimed, { attempt, from: ['generating'] }, { code: 'zombie', message: '' }),
    await endings.cancel(claimed, { attempt, from: ['generating', 'processing'] }),
    await endings.succeed(claimed, { attempt, from: ['generating'] }, charge, [], null),
    await endings.succeed(claimed, { attempt, from: ['processing'] }, charge, [], null),
  ];
}

const NOTHING_WRITTEN = [
  [],
  undefined,
  false,
  false,
  undefined,
  false,
  'fenced',
  'fenced',
  'fenced',
  'fenced',
];

test('lets a worker with a lapsed lease write nothing, both while the task waits and while another worker has it', async () => {
  const id = await submitImage(it.stack, it.who);
  const zombie = await claim(id, 'generating');
  await lapse(id);
  const waiting = await row(id);
  expect(await writeAll(zombie)).toEqual(NOTHING_WRITTEN);
  expect(await row(id)).toEqual(waiting);
  const heir = await claim(id, 'generating');
  expect(heir.attempt).toBe(zombie.attempt + 1);
  const claimed = await row(id);
  expect(await writeAll(zombie)).toEqual(NOTHING_WRITTEN);
  expect(await row(id)).toEqual(claimed);
  expect(await it.charges(id)).toEqual([]);
  await it.stack.endings.fail(
    heir,
    { attempt: heir.attempt, from: ['generating'] },
    { code: 'x', message: '' },
  );
});

test('lets a lapsed post-processing write nothing either', async () => {
  const id = await submitImage(it.stack, it.who);
  const first = await claim(id, 'generating');
  await it.stack.claims.markGenerated(id, first.attempt, RUN, 0.9);
  const zombie = await claim(id, 'processing');
  await lapse(id);
  const heir = await claim(id, 'processing');
  const claimed = await row(id);
  expect(await writeAll(zombie)).toEqual(NOTHING_WRITTEN);
  expect(await row(id)).toEqual(claimed);
  const charge = { amount: heir.charge, lines: { image: heir.charge } };
  expect(await it.stack.endings.succeed(heir, fenceOf(heir), charge, [], null)).toBe('settled');
  expect(await it.charges(id)).toHaveLength(1);
});

test('answers closed and charges nothing more when an ending is sent again, as after a lost database reply', async () => {
  const id = await submitImage(it.stack, it.who);
  const first = await claim(id, 'generating');
  await it.stack.claims.markGenerated(id, first.attempt, RUN, 0.9);
  const second = await claim(id, 'processing');
  const charge = { amount: second.charge, lines: { image: second.charge } };
  const send = () => it.stack.endings.succeed(second, fenceOf(second), charge, [], null);
  expect([await send(), await send()]).toEqual(['settled', 'closed']);
  expect(await it.charges(id)).toEqual([(-second.charge).toString()]);
});

test('does not claim, renew, charge or otherwise end a task that has ended', async () => {
  const id = await submitImage(it.stack, it.who);
  const claimed = await claim(id, 'generating');
  await it.stack.endings.fail(claimed, { attempt: 1, from: ['generating'] }, { code: 'x', message: '' });
  const ended = await row(id);
  expect(await it.stack.claims.claim(id, 'generating', 'w', 1_000)).toBeUndefined();
  expect(await writeAll(claimed)).toEqual([
    ...NOTHING_WRITTEN.slice(0, 6),
    'closed',
    'closed',
    'closed',
    'closed',
  ]);
  expect(await row(id)).toEqual(ended);
  expect(claimed.charge).toBeGreaterThan(ZERO_USD);
  expect(await it.charges(id)).toEqual([]);
});

test('never lowers the progress, not even across attempts', async () => {
  const id = await submitImage(it.stack, it.who);
  const first = await claim(id, 'generating');
  await it.stack.claims.renew([{ id, attempt: 1, progress: 0.6 }], 1_000);
  await it.stack.claims.renew([{ id, attempt: 1, progress: 0.2 }], 1_000);
  await lapse(id);
  const second = await claim(id, 'generating');
  await it.stack.claims.renew([{ id, attempt: 2, progress: 0.1 }], 1_000);
  expect((await it.stack.reads.findTask(id, EVERY_TASK))?.progress).toBeCloseTo(0.6);
  expect(second).toMatchObject({ failures: 0, interruptions: first.interruptions + 1 });
  await it.stack.endings.fail(second, { attempt: 2, from: ['generating'] }, { code: 'x', message: '' });
});

test('skips a locked row when renewing leases', async () => {
  const [locked, free] = [await submitImage(it.stack, it.who), await submitImage(it.stack, it.who)];
  await claim(locked, 'generating');
  await claim(free, 'generating');
  const other = await it.pool.connect();
  await other.query('BEGIN');
  await other.query('SELECT 1 FROM tasks WHERE id = $1 FOR UPDATE', [locked]);
  const leases = [locked, free].map((id) => ({ id, attempt: 1, progress: 0.5 }));
  const renewed = await it.stack.claims.renew(leases, 60_000);
  await other.query('ROLLBACK');
  other.release();
  expect(renewed.map(({ id }) => id)).toEqual([free]);
  expect(await it.stack.claims.findLease(locked, 1)).toEqual({ cancelRequested: false });
});

test('does not claim a task with the cancel flag set', async () => {
  const id = await submitImage(it.stack, it.who);
  await it.pool.query('UPDATE tasks SET cancel_requested_at = clock_timestamp() WHERE id = $1', [id]);
  expect(await it.stack.claims.claim(id, 'generating', 'w', 1_000)).toBeUndefined();
  await it.stack.services.sweeps.sweep();
});

test('stops an attempt that lost its claim at the next heartbeat instead of wasting work', async () => {
  const id = await submitImage(it.stack, it.who, 'run=60000');
  const attempt = it.stack.services.generate.run(id, new AbortController().signal);
  await it.inState(id, 'generating');
  // a heartbeat may renew the lease before the sweep sees that it lapsed
  const heir = await eventually(async () => {
    await lapse(id);
    return await it.stack.claims.claim(id, 'generating', 'test', 60_000);
  });
  expect(await attempt).toEqual({ result: 'claim_lost' });
  await it.stack.endings.fail(
    heir,
    { attempt: heir.attempt, from: ['generating'] },
    { code: 'x', message: '' },
  );
});

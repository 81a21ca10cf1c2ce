import { writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createLogger } from '../../src/lib/logger.ts';
import { PreemptionNotice } from '../../workers/preemption-notice.ts';
import { eventually } from '../factories/eventually.ts';
import { submitImage } from '../factories/task-order.ts';
import { TaskTest } from '../factories/task-test.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';

const log = createLogger({ name: 'test', level: 'silent' });
let it: TaskTest;

beforeAll(async () => {
  it = await TaskTest.open({ redisDatabase: 14, worker: 'gpu-3.77' });
});
afterAll(() => it?.close());

async function reported(): Promise<{ draining: string | null; running: number } | undefined> {
  const { rows } = await it.pool.query<{ draining: string | null; running: number }>(
    "SELECT draining, running FROM workers WHERE worker = 'gpu-3.77'",
  );
  return rows[0];
}

const slots = async () => (await it.stack.dispatch.liveSlots()).size;

test('lets the runs of a drained host finish and gives it no new ones until it is resumed', async () => {
  it.stack.start();
  const running = await submitImage(it.stack, it.who, 'run=800');
  await it.inState(running, 'generating');
  await it.pool.query("INSERT INTO worker_drains (host, actor) VALUES ('gpu-3', 'ann')");
  await eventually(async () => (await reported())?.draining === 'operator', 30_000, 'the drain');
  await eventually(async () => (await slots()) === 0, 30_000, 'no slots');
  const waiting = await submitImage(it.stack, it.who);
  await eventually(async () => (await reported())?.running === 0, 30_000, 'the end of the run');
  const { rows } = await it.pool.query<{ state: string }>(
    'SELECT state FROM tasks WHERE id = ANY ($1) ORDER BY id',
    [[running, waiting]],
  );
  expect(rows.map(({ state }) => state)).toEqual([
    expect.stringMatching(/^(generated|succeeded)$/),
    'queued',
  ]);
  await it.pool.query('DELETE FROM worker_drains');
  expect((await it.ended(waiting)).task.state).toBe('succeeded');
  expect((await it.ended(running)).task).toMatchObject({ state: 'succeeded', failures: 0 });
});

test('sees a notice in a file or at an address for as long as it is there', async () => {
  const file = join(temporaryFolder('notice'), 'preempted');
  let answer = { status: 404, text: 'no' };
  const server: Server = createServer((_, response) => {
    response.writeHead(answer.status).end(answer.text);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const notice = new PreemptionNotice({ file, url }, log);
  const heard: boolean[] = [];
  notice.onChange((isGiven) => heard.push(isGiven));
  answer = { status: 200, text: 'FALSE' };
  await writeFile(file, '');
  await eventually(async () => notice.isGiven, 30_000, 'the notice by file');
  await notice.close();
  const later = new PreemptionNotice({ file: null, url }, log);
  later.onChange((isGiven) => heard.push(isGiven));
  answer = { status: 200, text: 'TRUE' };
  await eventually(async () => later.isGiven, 30_000, 'the notice by address');
  answer = { status: 404, text: 'no' };
  await eventually(async () => !later.isGiven, 30_000, 'the end of the notice');
  expect(heard).toEqual([true, true, false]);
  await later.close();
  await new Promise((resolve) => server.close(resolve));
});

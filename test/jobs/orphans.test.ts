import { once } from 'node:events';
import { utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newUuid } from '../../src/lib/ids.ts';
import { OrphanSweepService } from '../../src/tasks/orphan-sweep.service.ts';
import { eventually } from '../factories/eventually.ts';
import { silentLog } from '../factories/ledger.ts';
import { spawnTaskWorker } from '../factories/spawn-task-worker.ts';
import { submitImage } from '../factories/task-order.ts';
import { FAST_LEASES } from '../factories/task-stack.ts';
import { TaskTest } from '../factories/task-test.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const { signal } = new AbortController();

let it: TaskTest;

beforeAll(async () => {
  it = await TaskTest.open({ redisDatabase: 9 });
});

afterAll(() => it?.close());

async function keysBelow(prefix: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of it.stack.storage.list(prefix)) {
    keys.push(key);
  }
  return keys;
}

/** Backdates the files and the ends of all tasks by that many ms. */
async function ageAll(ms: number): Promise<void> {
  const then = new Date(Date.now() - ms);
  for (const key of [...(await keysBelow('acct/')), ...(await keysBelow('raw/'))]) {
    await utimes(join(it.folder, 'media', key), then, then);
  }
  await it.pool.query(
    `UPDATE tasks SET completed_at = completed_at - $1 * interval '1 ms' WHERE completed_at IS NOT NULL`,
    [ms],
  );
}

async function put(key: string): Promise<string> {
  const path = join(it.folder, 'any.png');
  await writeFile(path, 'x');
  await it.stack.storage.putFile(key, path, 'image/png');
  return key;
}

test('deletes the files of a worker killed between storing and settling once the task has ended without them', async () => {
  const running = it.stack.start('generate,maintenance');
  const id = await submitImage(it.stack, it.who, 'run=1');
  const victim = await spawnTaskWorker(
    {
      databaseUrl: it.database.url,
      redisUrl: it.redisUrl,
      prefix: it.stack.prefix,
      folder: it.folder,
      leases: FAST_LEASES,
      dieAfterFiles: 1,
    },
    ['--queues=postprocess'],
  );
  await once(victim, 'exit');
  await running.close();
  const [orphan] = await keysBelow('acct/');
  const raw = await keysBelow('raw/');
  expect(orphan).toContain(`/${id}/`);
  expect(raw).toEqual([`raw/${id}/1/0.png`]);

  await ageAll(2 * HOUR_MS);
  expect(await it.stack.services.orphans.sweep(signal)).toBe(0);

  await it.pool.query('UPDATE tasks SET deadline_at = clock_timestamp() WHERE id = $1', [id]);
  await it.stack.services.sweeps.sweep();
  expect((await it.ended(id)).task.errorCode).toBe('deadline_exceeded');
  expect(await it.stack.services.orphans.sweep(signal)).toBe(0);

  await ageAll(2 * HOUR_MS);
  expect(await it.stack.services.orphans.sweep(signal)).toBe(2);
  expect([...(await keysBelow('acct/')), ...(await keysBelow('raw/'))]).toEqual([]);
  expect(await it.charges(id)).toEqual([]);
});

test('keeps files that a task lists and deletes those of no task after a week', async () => {
  const running = it.stack.start();
  const id = await submitImage(it.stack, it.who, 'run=1');
  const { media } = await it.ended(id);
  expect(media).toHaveLength(1);
  await eventually(async () => (await keysBelow('raw/')).length === 0);
  await running.close();
  const listed = await keysBelow('acct/');
  const stranger = await put(`acct/${it.who.accountId}/2026-01/${newUuid()}/0-original-0123456789abcdef.png`);
  const other = await put('acct/notes/0.png');

  await ageAll(2 * DAY_MS);
  expect(await it.stack.services.orphans.sweep(signal)).toBe(0);
  await ageAll(8 * DAY_MS);
  expect(await it.stack.services.orphans.sweep(signal)).toBe(1);
  expect(await keysBelow('acct/')).toEqual([...listed, other].toSorted());
  expect(await it.stack.storage.stat(stranger)).toBeUndefined();
});

test('checks a limited number of files per round and continues there in the next one', async () => {
  const strangers = await Promise.all(Array.from({ length: 5 }, () => put(`raw/${newUuid()}/1/0.png`)));
  await ageAll(8 * DAY_MS);
  const clock = { now: () => Date.now() };
  const bounded = new OrphanSweepService(it.stack.retentionStore, it.stack.storage, {
    ...{ clock, log: silentLog },
    filesMax: 3,
  });
  const rounds: number[] = [];
  while (rounds.reduce((sum, deleted) => sum + deleted, 0) < strangers.length) {
    rounds.push(await bounded.sweep(signal));
  }
  expect(Math.max(...rounds)).toBeLessThanOrEqual(3);
  expect(rounds.length).toBeGreaterThan(1);
});

test('lists each prefix once per round, however many pages there are', async () => {
  const listings: string[] = [];
  const asked: number[] = [];
  const keys = Array.from({ length: 1_200 }, () => `raw/${newUuid()}/1/0.png`).toSorted();
  const storage = {
    async *list(prefix: string, after = '') {
      listings.push(prefix);
      yield* keys
        .filter((key) => key.startsWith(prefix) && key > after)
        .map((key) => ({ key, storedAtMs: 0 }));
    },
    delete: async () => undefined,
  };
  const store = {
    findUnlisted: async (files: readonly unknown[]) => {
      asked.push(files.length);
      return [];
    },
  };
  const sweep = new OrphanSweepService(store, storage, { clock: { now: Date.now }, log: silentLog });
  await sweep.sweep(signal);
  expect(listings).toEqual(['acct/', 'raw/']);
  expect(asked).toEqual([500, 500, 200]);
});

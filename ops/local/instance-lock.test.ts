import { readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../../test/factories/temporary-folder.ts';
import { acquireInstanceLock } from './instance-lock.ts';

let folder: string;
let path: string;

beforeEach(() => {
  folder = temporaryFolder('lock');
  path = join(folder, 'tollgate.lock');
});

test('only one instance holds the lock, and another can acquire it after the release', async () => {
  const lock = await acquireInstanceLock(folder);
  expect(lock.recovered).toBe(false);
  await expect(acquireInstanceLock(folder, { noticeWaitMs: 150 })).rejects.toThrow(`process ${process.pid}`);
  lock.release();
  (await acquireInstanceLock(folder)).release();
});

test('a lock of a dead process is taken over, even if its pid has been reused', async () => {
  for (const pid of [2 ** 22 - 3, process.ppid]) {
    writeFileSync(path, JSON.stringify({ pid, identity: 'boot-1', children: [] }));
    const lock = await acquireInstanceLock(folder);
    expect(lock.recovered).toBe(true);
    lock.release();
  }
});

test('a partially written lock is taken over after a moment', async () => {
  writeFileSync(path, '{"pid":');
  utimesSync(path, new Date(), new Date(Date.now() - 10_000));
  const lock = await acquireInstanceLock(folder);
  expect(lock.recovered).toBe(true);
  lock.release();
});

test('a start waits for an instance that is stopping', async () => {
  const first = await acquireInstanceLock(folder);
  first.markStopping();
  let waited = false;
  const second = acquireInstanceLock(folder, {
    onWait: () => {
      waited = true;
      first.release();
    },
  });
  expect((await second).recovered).toBe(false);
  expect(waited).toBe(true);
  (await second).release();
});

test('of many instances that find a stale lock at once, exactly one wins', async () => {
  writeFileSync(path, JSON.stringify({ pid: 2 ** 22 - 3, identity: 'boot-1', children: [] }));
  const outcomes = await Promise.allSettled(
    Array.from({ length: 5 }, () => acquireInstanceLock(folder, { noticeWaitMs: 150 })),
  );
  expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(1);
  expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ pid: process.pid });
});

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { systemClock } from '../../src/lib/clock.ts';
import { S3Storage } from '../../src/media/storage-s3.ts';
import { eventually } from '../factories/eventually.ts';
import { submitImage } from '../factories/task-order.ts';
import { TaskTest } from '../factories/task-test.ts';
import { S3_SERVER_TIMEOUT_MS, type S3Server, startS3Server } from '../setup/s3-server.ts';

let server: S3Server;
let bucket: S3Storage;
let it: TaskTest;
let refuseDeletes = false;

beforeAll(async () => {
  server = await startS3Server();
  bucket = new S3Storage({ location: { ...server.location, prefix: 'media/' }, clock: systemClock });
  it = await TaskTest.open({
    wrapStorage: () => ({
      putFile: (...args) => bucket.putFile(...args),
      stat: (key) => bucket.stat(key),
      read: (...args) => bucket.read(...args),
      getFile: (...args) => bucket.getFile(...args),
      signedUrl: (...args) => bucket.signedUrl(...args),
      delete: async (key) => {
        if (refuseDeletes) {
          throw new Error('the bucket refuses');
        }
        await bucket.delete(key);
      },
      list: (...args) => bucket.list(...args),
      close: () => bucket.close(),
    }),
  });
}, S3_SERVER_TIMEOUT_MS);

afterAll(async () => {
  await it?.close();
  await server?.close();
});

test('serves media in a bucket by its own signed URLs, and deletes them with the prompt when they expire', async () => {
  it.stack.start('generate,postprocess,webhooks');
  const relay = it.stack.start('maintenance');
  const ids = await Promise.all([
    submitImage(it.stack, it.who, 'run=1'),
    submitImage(it.stack, it.who, 'run=1'),
  ]);
  const [kept, expired] = ids as [string, string];
  const results = await Promise.all([kept, expired].map((id) => it.ended(id)));
  for (const { media } of results) {
    expect((await fetch(media[0]!.content)).status).toBe(200);
  }
  const keysOf = async (id: string) =>
    (await it.stack.reads.listOutputs([id])).get(id)!.map((output) => output.storageKey);
  const [keptKeys, expiredKeys] = [await keysOf(kept), await keysOf(expired)];
  expect(expiredKeys.length).toBeGreaterThan(0);
  const raw = `raw/${expired}/1/0.png`;
  await eventually(
    async () => (await bucket.stat(raw)) === undefined,
    30_000,
    'the deletion of the raw file',
  );
  await relay.close();

  const { signal } = new AbortController();
  await it.pool.query(
    `UPDATE tasks SET media_expires_at = clock_timestamp() - interval '1 second' WHERE id = $1`,
    [expired],
  );
  refuseDeletes = true;
  expect(await it.stack.services.retention.expireMedia(signal)).toBe(0);
  expect(await bucket.stat(expiredKeys[0]!)).toBeDefined();
  expect(await keysOf(expired)).toEqual(expiredKeys);
  refuseDeletes = false;
  expect(await it.stack.services.retention.expireMedia(signal)).toBe(1);

  for (const key of expiredKeys) {
    expect(await bucket.stat(key)).toBeUndefined();
  }
  for (const key of keptKeys) {
    expect(await bucket.stat(key)).toBeDefined();
  }
  expect((await fetch(results[1]!.media[0]!.content)).status).toBe(404);
  const { rows } = await it.pool.query(
    'SELECT media_deleted_at IS NOT NULL AS gone, parameters FROM tasks WHERE id = $1',
    [expired],
  );
  expect(rows).toEqual([{ gone: true, parameters: null }]);
  await it.pool.query(
    `UPDATE tasks SET completed_at = clock_timestamp() - interval '31 days' WHERE id = ANY ($1)`,
    [ids],
  );
  expect(await it.stack.services.retention.expireTasks(signal)).toBe(1);
  const left = await it.pool.query('SELECT id FROM tasks WHERE id = ANY ($1)', [ids]);
  expect(left.rows).toEqual([{ id: kept }]);
});

test('never deletes a file outside storage keys in a sweep', async () => {
  const path = join(it.folder, 'other.png');
  await writeFile(path, 'x');
  await bucket.putFile('acct/other/2026-01/task/0.png', path, 'image/png');
  await bucket.delete('../media/acct/other/2026-01/task/0.png');
  expect(await bucket.stat('acct/other/2026-01/task/0.png')).toBeDefined();
});

test('lists objects of a bucket in key order, from any key on, and nothing outside the prefix', async () => {
  const path = join(it.folder, 'listed.png');
  await writeFile(path, 'x');
  const keys = ['raw/a/1/0.png', 'raw/a/2/0.png', 'raw/b/1/0.png'];
  const since = Date.now() - 60_000;
  for (const key of [...keys, 'acct/listed/2026-01/task/0.png']) {
    await bucket.putFile(key, path, 'image/png');
  }
  const listed = async (after?: string) => {
    const found = [];
    for await (const object of bucket.list('raw/', after)) {
      found.push(object);
    }
    return found;
  };
  const all = await listed();
  expect(all.map(({ key }) => key)).toEqual(keys);
  expect(all.every(({ storedAtMs }) => storedAtMs > since)).toBe(true);
  expect((await listed(keys[0])).map(({ key }) => key)).toEqual(keys.slice(1));
  await Promise.all(keys.map((key) => bucket.delete(key)));
  expect(await listed()).toEqual([]);
});

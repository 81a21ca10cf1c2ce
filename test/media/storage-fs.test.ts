import { mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { isFull } from '../../src/media/media-root.ts';
import { StorageError } from '../../src/media/storage-error.ts';
import { createFileStorage, type FileStorage } from '../../src/media/storage-fs.ts';
import { testFolder } from './media-tools.ts';

const KEY = 'acct/acc_1/2026-01/task/0-original-0123456789abcdef.png';

describe('the fs storage', () => {
  let folder: Awaited<ReturnType<typeof testFolder>>;
  let storage: FileStorage;
  let root: string;
  let source: string;

  beforeEach(async () => {
    folder = await testFolder();
    root = join(folder.path, 'root');
    source = join(folder.path, 'source.png');
    await writeFile(source, '0123456789');
    await writeFile(join(folder.path, 'outside.png'), 'secret');
    storage = await createFileStorage({ root, sign: (key) => `signed:${key}` });
  });

  afterEach(async () => {
    await storage?.close();
    await folder?.remove();
  });

  test('stores, reports, streams, copies and deletes', async () => {
    const stored = { key: KEY, bytes: 10, mediaType: 'image/png' };
    expect(await storage.putFile(KEY, source, 'image/png')).toEqual(stored);
    expect(await storage.stat(KEY)).toEqual(stored);
    expect(await text(await storage.read(KEY))).toBe('0123456789');
    expect(await text(await storage.read(KEY, { start: 3, end: 5 }))).toBe('345');
    expect(await storage.signedUrl(KEY, { ttlSeconds: 1 })).toBe(`signed:${KEY}`);
    const copy = join(folder.path, 'copy');
    await storage.getFile(KEY, copy);
    expect(await readFile(copy, 'utf8')).toBe('0123456789');
    await storage.delete(KEY);
    await storage.delete(KEY);
    expect(await storage.stat(KEY)).toBeUndefined();
    await expect(storage.read(KEY)).rejects.toMatchObject({ code: 'media_not_found' });
    await expect(storage.getFile(KEY, join(folder.path, 'none'))).rejects.toMatchObject({
      code: 'media_not_found',
    });
  });

  test('leaves nothing behind after a failed write', async () => {
    await expect(storage.putFile(KEY, join(folder.path, 'absent'), 'image/png')).rejects.toThrow('ENOENT');
    expect(await storage.stat(KEY)).toBeUndefined();
    expect(await readdir(join(root, '.incoming'))).toEqual([]);
  });

  test('stores files that arrive together as a batch, and fails only those that cannot be stored', async () => {
    await mkdir(join(root, 'acct', 'taken.png', 'full'), { recursive: true });
    const names = Array.from({ length: 150 }, (_, index) => `acct/${index % 7}/${index}.png`);
    const storing = names.map((key, index) => storage.putFile(key, Buffer.alloc(index, index), 'image/png'));
    const taken = storage.putFile('acct/taken.png', Buffer.from('x'), 'image/png');
    await expect(taken).rejects.toMatchObject({ code: 'EISDIR' });
    expect(await Promise.all(storing)).toHaveLength(names.length);
    for (const [index, key] of names.entries()) {
      expect(await readFile(join(root, key))).toEqual(Buffer.alloc(index, index));
      expect((await stat(join(root, key))).mode & 0o777).toBe(0o640);
    }
    expect(await readdir(join(root, '.incoming'))).toEqual([]);
  });

  test('stores a view of a large buffer as its own bytes, and leaves the buffer intact for the caller', async () => {
    const large = Buffer.alloc(20_000_000, 'a');
    const parts = [large.subarray(5, 15), large.subarray(0, 18_000_000), large.subarray(1, 3)];
    await Promise.all(parts.map((part, index) => storage.putFile(`acct/${index}.png`, part, 'image/png')));
    for (const [index, part] of parts.entries()) {
      expect((await readFile(join(root, `acct/${index}.png`))).equals(part)).toBe(true);
    }
    expect(large.length).toBe(20_000_000);
  });

  test('finishes pending stores before it is closed', async () => {
    const storing = Array.from({ length: 10 }, (_, index) =>
      storage.putFile(`acct/${index}.png`, Buffer.from('x'), 'image/png'),
    );
    await storage.close();
    expect(await readdir(join(root, 'acct'))).toHaveLength(10);
    await Promise.all(storing);
  });

  test('shows readers the old object or the new one, never a part', async () => {
    const big = join(folder.path, 'big.png');
    const versions = ['a', 'b'].map((letter) => letter.repeat(2_000_000));
    await writeFile(big, versions[0]!);
    await storage.putFile(KEY, big, 'image/png');
    const writing = (async () => {
      for (let turn = 0; turn < 10; turn += 1) {
        await writeFile(big, versions[turn % 2]!);
        await storage.putFile(KEY, big, 'image/png');
      }
    })();
    for (let turn = 0; turn < 20; turn += 1) {
      expect(versions).toContain(await text(await storage.read(KEY)));
    }
    await writing;
  });

  test.each([
    '../outside.png',
    'acct/../../outside.png',
    'acct/./x.png',
    '/etc/passwd.png',
    'acct//x.png',
    '.incoming/x.png',
    'acct/x\0.png',
    'acct/x.html',
  ])('does not reach %p', async (key) => {
    await expect(storage.putFile(key, source, 'image/png')).rejects.toThrow();
    expect(await storage.stat(key)).toBeUndefined();
    await expect(storage.read(key)).rejects.toMatchObject({ code: 'media_not_found' });
    await storage.delete(key);
    expect(await readFile(join(folder.path, 'outside.png'), 'utf8')).toBe('secret');
  });

  test('does not follow a symbolic link out of its root', async () => {
    await mkdir(join(root, 'acct'), { recursive: true });
    await symlink(join(folder.path, 'outside.png'), join(root, 'acct', 'file.png'));
    await symlink(folder.path, join(root, 'acct', 'folder'));
    for (const key of ['acct/file.png', 'acct/folder/outside.png']) {
      expect(await storage.stat(key)).toBeUndefined();
      await expect(storage.read(key)).rejects.toMatchObject({ code: 'media_not_found' });
    }
    await storage.delete('acct/folder/outside.png');
    expect(await readFile(join(folder.path, 'outside.png'), 'utf8')).toBe('secret');
    await expect(storage.putFile('acct/folder/new.png', source, 'image/png')).rejects.toThrow('inside');
    expect(await readdir(folder.path)).not.toContain('new.png');
  });

  test('does not treat a folder as an object', async () => {
    await mkdir(join(root, 'acct', 'a.png'), { recursive: true });
    expect(await storage.stat('acct/a.png')).toBeUndefined();
    await rm(join(root, 'acct'), { recursive: true });
  });

  describe('while its disk is away', () => {
    const away: [string, () => Promise<unknown>][] = [
      ['gone', () => rename(root, `${root}.gone`)],
      ['an empty mount point', () => rename(root, `${root}.gone`).then(() => mkdir(root))],
      ['no folder', () => rename(root, `${root}.gone`).then(() => writeFile(root, ''))],
    ];

    test.each(away)(
      '%s: nothing is written, nothing counts as missing, and it comes back',
      async (_, leave) => {
        await storage.putFile(KEY, source, 'image/png');
        await leave();
        const other = KEY.replace('0-original', '1-original');
        const listAll = async () => {
          for await (const _object of storage.list('acct/')) {
            // only whether it throws matters
          }
        };
        const operations = [
          () => storage.putFile(other, source, 'image/png'),
          () => storage.putFile(other, Buffer.from('in memory'), 'image/png'),
          () => storage.stat(KEY),
          () => storage.read(KEY),
          () => storage.getFile(KEY, join(folder.path, 'copy')),
          () => storage.delete(KEY),
          listAll,
        ];
        for (const operation of operations) {
          await expect(operation()).rejects.toBeInstanceOf(StorageError);
        }
        expect(await readdir(root).catch(() => [])).toEqual([]);
        await rm(root, { recursive: true, force: true });
        await rename(`${root}.gone`, root);
        expect(await text(await storage.read(KEY))).toBe('0123456789');
        expect(await storage.putFile(other, Buffer.from('in memory'), 'image/png')).toMatchObject({
          bytes: 9,
        });
      },
    );

    test('a check says when it is away, and when it is back', async () => {
      await storage.checkFolder();
      await rename(root, `${root}.gone`);
      await expect(storage.checkFolder()).rejects.toThrow('the media folder is missing or not mounted');
      await mkdir(root);
      await expect(storage.checkFolder()).rejects.toThrow('the media folder is missing or not mounted');
      await rm(root, { recursive: true });
      await rename(`${root}.gone`, root);
      await storage.checkFolder();
    });

    test('heals when only its inner folder is gone', async () => {
      await rm(join(root, '.incoming'), { recursive: true });
      expect(await storage.putFile(KEY, source, 'image/png')).toMatchObject({ bytes: 10 });
      await rm(join(root, '.incoming'), { recursive: true });
      expect(await storage.putFile(KEY, Buffer.from('in memory'), 'image/png')).toMatchObject({ bytes: 9 });
    });

    test('marks a folder that an earlier version filled', async () => {
      await storage.putFile(KEY, source, 'image/png');
      await rm(join(root, '.tollgate-media'));
      const opened = await createFileStorage({ root, sign: (key) => key });
      expect(await text(await opened.read(KEY))).toBe('0123456789');
      await opened.close();
      expect(await readdir(root)).toContain('.tollgate-media');
    });

    test('a place in it that is no folder is an outage too', async () => {
      await writeFile(join(root, 'acct'), 'in the way');
      await expect(storage.putFile(KEY, source, 'image/png')).rejects.toBeInstanceOf(StorageError);
    });
  });
});

test.each([
  ['has room', { blocks: 10_000, bavail: 2_000, files: 10, ffree: 1 }, false],
  ['has no block left', { blocks: 10_000, bavail: 0, files: 10, ffree: 1 }, true],
  [
    'has only the blocks left into which no image fits',
    { blocks: 10_000, bavail: 5, files: 10, ffree: 1 },
    true,
  ],
  ['has no file left', { blocks: 10_000, bavail: 2_000, files: 10, ffree: 0 }, true],
  ['counts no files', { blocks: 10_000, bavail: 2_000, files: 0, ffree: 0 }, false],
  ['counts nothing', { blocks: 0, bavail: 0, files: 0, ffree: 0 }, false],
])('a disk that %s', (_name, room, full) => {
  expect(isFull({ bsize: 4_096, ...room })).toBe(full);
});

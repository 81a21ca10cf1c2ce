import { createHash } from 'node:crypto';
import { access, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { saveObject } from './digest-stream.ts';
import { StorageError } from './storage-error.ts';

const WHOLE = '0123456789';

let folder: string;
let files = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'save-object-'));
});

afterAll(async () => {
  await rm(folder, { recursive: true });
});

function newPath(): string {
  files += 1;
  return join(folder, `${files}.raw`);
}

/** A connection that breaks off after these bytes. */
function brokenAfter(bytes: string): Readable {
  return Readable.from(
    (async function* () {
      yield Buffer.from(bytes);
      throw Object.assign(new Error('aborted'), { code: 'ECONNRESET' });
    })(),
  );
}

const sha256 = createHash('sha256').update(WHOLE).digest('hex');

test.each([
  ['breaks off', () => brokenAfter('01234'), /broke off .*ECONNRESET/],
  ['ends early', () => Readable.from([Buffer.from('01234')]), /different bytes/],
  ['sends other bytes', () => Readable.from([Buffer.from('012345678X')]), /different bytes/],
  ['sends more than it announced', () => Readable.from([Buffer.from(`${WHOLE}X`)]), /longer than declared/],
])(
  'a storage that %s is away for a while, and the object can be fetched again',
  async (_how, body, words) => {
    const path = newPath();
    const failure = await saveObject(body(), path, { bytes: WHOLE.length, sha256 }).catch(
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(StorageError);
    expect((failure as StorageError).message).toMatch(words);
    await expect(access(path)).rejects.toMatchObject({ code: 'ENOENT' });
    await saveObject(Readable.from([Buffer.from(WHOLE)]), path, { bytes: WHOLE.length, sha256 });
    expect(await readFile(path, 'utf8')).toBe(WHOLE);
  },
);

test('accepts an object whose length and hash the storage does not state', async () => {
  const path = newPath();
  await saveObject(Readable.from([Buffer.from(WHOLE)]), path, { bytes: Number.POSITIVE_INFINITY });
  expect(await readFile(path, 'utf8')).toBe(WHOLE);
});

test('reports the local disk as it is, and leaves a file of somebody else alone', async () => {
  const path = newPath();
  await writeFile(path, 'another file');
  const body = Readable.from([Buffer.from(WHOLE)]);
  await expect(saveObject(body, path, { bytes: WHOLE.length })).rejects.toMatchObject({ code: 'EEXIST' });
  expect(await readFile(path, 'utf8')).toBe('another file');
});

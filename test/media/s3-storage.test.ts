import { createHash, randomBytes } from 'node:crypto';
import { readFile, truncate, writeFile } from 'node:fs/promises';
import { createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import {
  GetObjectCommand,
  ListMultipartUploadsCommand,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { rootCopies } from '../../src/compose/root-copies.ts';
import { composeStorage } from '../../src/compose/storage.ts';
import { ConfigError, loadConfig } from '../../src/config/config.ts';
import { systemClock } from '../../src/lib/clock.ts';
import type { Logger } from '../../src/lib/logger.ts';
import { createS3Client, S3_CLOCKS, type S3Location } from '../../src/media/s3-client.ts';
import { S3Storage } from '../../src/media/storage-s3.ts';
import { S3_SERVER_TIMEOUT_MS, type S3Server, startS3Server } from '../setup/s3-server.ts';
import { testFolder } from './media-tools.ts';

const MIB = 1024 * 1024;

let server: S3Server;
let folder: Awaited<ReturnType<typeof testFolder>>;
let source: string;
const opened: S3Storage[] = [];
const listeners: Server[] = [];
let keys = 0;

function open(
  changes: Partial<S3Location> = {},
  options: { nowMs?: number; partBytes?: number } = {},
): S3Storage {
  const { nowMs, partBytes } = options;
  const clock = nowMs === undefined ? systemClock : { now: () => nowMs };
  const storage = new S3Storage({
    location: { ...server.location, ...changes },
    clock,
    ...(partBytes === undefined ? {} : { partBytes }),
  });
  opened.push(storage);
  return storage;
}

function newKey(extension = 'png'): string {
  keys += 1;
  return `acct/acc_1/2026-01/task-${keys}/0-original-0123456789abcdef.${extension}`;
}

beforeAll(async () => {
  server = await startS3Server();
  folder = await testFolder();
  source = join(folder.path, 'source.png');
  await writeFile(source, '0123456789');
}, S3_SERVER_TIMEOUT_MS);

afterAll(async () => {
  await Promise.all(opened.map((storage) => storage.close()));
  for (const listener of listeners) {
    listener.closeAllConnections();
    listener.close();
  }
  await server?.close();
  await folder?.remove();
});

test('copies the roots of the books to a bucket of the same store', async () => {
  const copies = rootCopies({
    bookRootsFolder: folder.path,
    bookRootsBucket: server.location.bucket,
    bookRootsWebhook: null,
    storage: { kind: 's3', s3: { ...server.location, prefix: 'books/' } },
  });
  await copies[0]?.('2028-01-31.txt', source);
  const client = createS3Client(server.location, S3_CLOCKS);
  try {
    const target = { Bucket: server.location.bucket, Key: 'books/2028-01-31.txt' };
    const stored = await client.send(new GetObjectCommand(target));
    expect(await stored.Body?.transformToString()).toBe('0123456789');
  } finally {
    client.destroy();
  }
});

test('stores, reports, streams, copies and deletes', async () => {
  const storage = open();
  const key = newKey();
  const stored = { key, bytes: 10, mediaType: 'image/png' };
  expect(await storage.putFile(key, source, 'image/png')).toEqual(stored);
  expect(await storage.stat(key)).toEqual(stored);
  expect(await text(await storage.read(key))).toBe('0123456789');
  expect(await text(await storage.read(key, { start: 3, end: 5 }))).toBe('345');
  const copy = join(folder.path, 'copy');
  await storage.getFile(key, copy);
  expect(await readFile(copy, 'utf8')).toBe('0123456789');
  await storage.delete(key);
  await storage.delete(key);
  expect(await storage.stat(key)).toBeUndefined();
  await expect(storage.read(key)).rejects.toMatchObject({ code: 'media_not_found', status: 404 });
  await expect(storage.getFile(key, join(folder.path, 'none'))).rejects.toMatchObject({
    code: 'media_not_found',
  });
});

test.each(['../outside.png', '/etc/passwd.png', 'acct//x.png', 'acct/x.html'])(
  'rejects the key %p',
  async (key) => {
    const storage = open();
    await expect(storage.putFile(key, source, 'image/png')).rejects.toThrow(/storage key|of its key/);
    expect(await storage.stat(key)).toBeUndefined();
    await expect(storage.read(key)).rejects.toMatchObject({ code: 'media_not_found' });
    await storage.delete(key);
  },
  10_000,
);

test('uploads a large file in parts and returns it byte for byte', async () => {
  const storage = open({}, { partBytes: 5 * MIB });
  const key = newKey('mp4');
  const bytes = randomBytes(12 * MIB + 7);
  const path = join(folder.path, 'large.mp4');
  await writeFile(path, bytes);
  expect(await storage.putFile(key, path, 'video/mp4')).toEqual({
    key,
    bytes: bytes.length,
    mediaType: 'video/mp4',
  });
  expect((await storage.stat(key))?.bytes).toBe(bytes.length);
  const start = 5 * MIB - 3;
  expect(await buffer(await storage.read(key, { start, end: start + 9 }))).toEqual(
    bytes.subarray(start, start + 10),
  );
  const copy = join(folder.path, 'large-copy');
  await storage.getFile(key, copy);
  expect(
    createHash('sha256')
      .update(await readFile(copy))
      .digest('hex'),
  ).toBe(createHash('sha256').update(bytes).digest('hex'));
});

test('leaves no object and no parts behind when a file shrinks while it is stored', async () => {
  const path = join(folder.path, 'shrinking.mp4');
  await writeFile(path, Buffer.alloc(11 * MIB));
  const key = newKey('mp4');
  const forward = await startForwarder(server.port, (method) => {
    if (method === 'PUT') {
      return truncate(path, 6 * MIB);
    }
    return Promise.resolve();
  });
  const storage = open({ endpoint: forward.url }, { partBytes: 5 * MIB });
  await expect(storage.putFile(key, path, 'video/mp4')).rejects.toThrow('shrank');
  expect(await open().stat(key)).toBeUndefined();
  const client = sdk();
  const { Uploads = [] } = await client.send(
    new ListMultipartUploadsCommand({ Bucket: server.location.bucket }),
  );
  client.destroy();
  expect(Uploads).toEqual([]);
});

test('rejects bytes that changed in the store', async () => {
  const storage = open();
  const key = newKey();
  const client = sdk();
  const Metadata = { sha256: createHash('sha256').update('0123456789').digest('hex') };
  await client.send(new PutObjectCommand({ Bucket: 'media', Key: key, Body: '012345678X', Metadata }));
  client.destroy();
  await expect(storage.getFile(key, join(folder.path, 'changed'))).rejects.toThrow('different bytes');
});

test('puts keys below the prefix', async () => {
  const key = newKey();
  const prefixed = open({ prefix: 'tollgate/media/' });
  await prefixed.putFile(key, source, 'image/png');
  expect(await open().stat(key)).toBeUndefined();
  expect(await open().stat(`tollgate/media/${key}`)).toMatchObject({ bytes: 10 });
  expect((await fetch(await prefixed.signedUrl(key, { ttlSeconds: 60 }))).status).toBe(200);
});

describe('a signed URL', () => {
  test('works for anyone, with type, name and ranges', async () => {
    const storage = open();
    const key = newKey();
    await storage.putFile(key, source, 'image/png');
    const url = await storage.signedUrl(key, { ttlSeconds: 60, downloadName: 'my picture.png' });
    const answer = await fetch(url, { headers: { range: 'bytes=2-4' } });
    expect(answer.status).toBe(206);
    expect(await answer.text()).toBe('234');
    expect(answer.headers.get('content-type')).toBe('image/png');
    expect(answer.headers.get('content-disposition')).toBe('attachment; filename="my picture.png"');
    expect(url).not.toContain('testing');
  });

  test('is rejected without its signature, with another one, or for another key or method', async () => {
    const storage = open();
    const [key, other] = [newKey(), newKey()];
    await storage.putFile(key, source, 'image/png');
    await storage.putFile(other, source, 'image/png');
    const url = await storage.signedUrl(key, { ttlSeconds: 60 });
    const flipped = url.replace(
      /X-Amz-Signature=(.)/,
      (_, digit) => `X-Amz-Signature=${digit === '0' ? '1' : '0'}`,
    );
    const longer = url.replace('X-Amz-Expires=60', 'X-Amz-Expires=600');
    expect(longer).not.toBe(url);
    expect((await fetch(flipped)).status).toBe(403);
    expect((await fetch(longer)).status).toBe(403);
    expect((await fetch(url.replace(key, other))).status).toBe(403);
    expect((await fetch(url, { method: 'DELETE' })).status).toBe(403);
    expect((await fetch(url.split('?')[0]!)).ok).toBe(false);
    expect((await fetch(url)).status).toBe(200);
  });

  test('expires', async () => {
    const key = newKey();
    const storage = open({}, { nowMs: Date.now() - 61_000 });
    await open().putFile(key, source, 'image/png');
    expect((await fetch(await storage.signedUrl(key, { ttlSeconds: 120 }))).status).toBe(200);
    expect((await fetch(await storage.signedUrl(key, { ttlSeconds: 60 }))).status).toBe(403);
  });

  test('names the bucket in the host unless path style is set', async () => {
    const key = newKey();
    await open().putFile(key, source, 'image/png');
    const storage = open({ forcePathStyle: false, endpoint: `http://${server.domain}:${server.port}` });
    const url = new URL(await storage.signedUrl(key, { ttlSeconds: 60 }));
    expect(url.hostname).toBe(`media.${server.domain}`);
    expect(await statusWithHost(server.port, url)).toBe(200);
    url.searchParams.set('X-Amz-Expires', '61');
    expect(await statusWithHost(server.port, url)).toBe(403);
  });

  test.each([
    ['acct/../x.png', { ttlSeconds: 60 }],
    ['acct/x.png', { ttlSeconds: 0 }],
    ['acct/x.png', { ttlSeconds: 8 * 86_400 }],
    ['acct/x.png', { ttlSeconds: 60, downloadName: 'a"b' }],
  ])('is not made for %p %p', async (key, options) => {
    await expect(open().signedUrl(key, options)).rejects.toThrow();
  });
});

describe('a granted upload', () => {
  const sha256 = createHash('sha256').update('0123456789').digest('hex');

  async function put(
    grant: { url: string; headers: Readonly<Record<string, string>> },
    body: string,
  ): Promise<number> {
    return (await fetch(grant.url, { method: 'PUT', headers: grant.headers, body })).status;
  }

  test('stores the file it was made for, and only that one', async () => {
    const storage = open();
    const key = newKey();
    const grant = await storage.grantUpload({ key, mediaType: 'image/png', bytes: 10, sha256 });
    expect(JSON.stringify(grant)).not.toContain('testing');
    expect(await put(grant, '012345678X')).toBe(400);
    expect(await put(grant, '01234567890')).toBe(403);
    expect(await storage.stat(key)).toBeUndefined();
    const wrong = { ...grant, headers: { ...grant.headers, 'x-amz-content-sha256': '0'.repeat(64) } };
    expect(await put(wrong, '0123456789')).toBe(403);
    expect(await put({ ...grant, url: grant.url.replace(key, newKey()) }, '0123456789')).toBe(403);
    expect(await put(grant, '0123456789')).toBe(200);
    expect(await storage.stat(key)).toEqual({ key, bytes: 10, mediaType: 'image/png' });
    await storage.getFile(key, join(folder.path, 'granted'));
  });

  test('expires', async () => {
    const storage = open();
    const request = { key: newKey(), mediaType: 'image/png', bytes: 10, sha256 };
    const now = Date.now();
    const past = jest.spyOn(Date, 'now').mockReturnValue(now - 16 * 60_000);
    const grant = await storage.grantUpload(request);
    past.mockRestore();
    expect(grant.expiresAt).toBeLessThan(now);
    expect(await put(grant, '0123456789')).toBe(403);
    expect(await put(await storage.grantUpload(request), '0123456789')).toBe(200);
  });
});

describe('a failing store', () => {
  test('distinguishes a wrong bucket, key and address', async () => {
    await open().checkBucket();
    await expect(open({ bucket: 'absent' }).checkBucket()).rejects.toMatchObject({ status: 404 });
    await expect(open({ secretAccessKey: 'wrong' }).checkBucket()).rejects.toMatchObject({ status: 403 });
    await expect(open({ endpoint: 'http://127.0.0.1:1' }).checkBucket()).rejects.toMatchObject({
      status: undefined,
    });
  });

  test('does not take a missing bucket for missing files', async () => {
    const storage = open({ bucket: 'absent' });
    const key = newKey();
    const target = join(folder.path, 'absent.png');
    for (const asked of [
      () => storage.stat(key),
      () => storage.read(key),
      () => storage.getFile(key, target),
      () => storage.delete(key),
      () => storage.putFile(key, source, 'image/png'),
    ]) {
      await expect(asked()).rejects.toMatchObject({ name: 'StorageError', status: 404 });
    }
  });

  test('names neither the key nor a credential in an error', async () => {
    const error = await open({ secretAccessKey: 'wrong-secret' })
      .putFile(newKey(), source, 'image/png')
      .then(String, (thrown: Error) => `${thrown.stack} ${JSON.stringify(thrown)} ${thrown.cause}`);
    expect(error).toContain('403');
    expect(error).not.toMatch(/wrong-secret|test:tester|acc_1|Signature=/);
  });

  test('is asked three times when it says 503, and given up when it says nothing', async () => {
    let calls = 0;
    const failing = createServer((request, response) => {
      calls += 1;
      request.resume().once('end', () => response.writeHead(503).end());
    });
    await expect(
      open({ endpoint: await listening(failing) }).putFile(newKey(), source, 'image/png'),
    ).rejects.toMatchObject({
      status: 503,
    });
    expect(calls).toBe(3);
    const silent = createServer(() => undefined);
    const storage = new S3Storage({
      location: { ...server.location, endpoint: await listening(silent) },
      clock: systemClock,
      clocks: { connectMs: 500, answerMs: 100, idleMs: 500 },
    });
    await expect(storage.stat(newKey())).rejects.toThrow('a metadata read');
    await storage.close();
  });
});

describe('the start', () => {
  const start = async (changes: Record<string, string> = {}) => {
    const { endpoint, region, bucket, accessKeyId, secretAccessKey } = server.location;
    const config = loadConfig({
      DATABASE_URL: 'postgres://nobody@localhost/none',
      REDIS_URL: 'redis://localhost',
      TOLLGATE_SECRET: '0123456789abcdef0123456789abcdef',
      ADMIN_TOKEN: '0123456789abcdef0123456789',
      DATA_DIR: folder.path,
      S3_ENDPOINT: endpoint,
      S3_REGION: region,
      S3_BUCKET: bucket,
      S3_ACCESS_KEY_ID: accessKeyId,
      S3_SECRET_ACCESS_KEY: secretAccessKey,
      S3_FORCE_PATH_STYLE: 'true',
      ...changes,
    });
    const warned: string[] = [];
    const log = {
      debug: () => undefined,
      warn: (_fields: object, message: string) => warned.push(message),
    } as unknown as Logger;
    const parts = await composeStorage(config, 'api', { clock: systemClock, log });
    await parts.storage.close();
    return { storage: parts.storage, grantUpload: parts.grantUpload, warned };
  };

  test('uses the bucket named in the settings, and grants uploads to it', async () => {
    const { storage, grantUpload, warned } = await start();
    expect(storage).toBeInstanceOf(S3Storage);
    expect(warned).toEqual([]);
    const sha256 = '0'.repeat(64);
    const grant = await grantUpload?.({ key: newKey(), mediaType: 'image/png', bytes: 1, sha256 });
    expect(grant?.url).toContain(`${server.location.endpoint}/media/acct/`);
  });

  test.each([
    [{ S3_BUCKET: 'absent' }, /^S3_BUCKET: there is no bucket absent at http:\/\/127\.0\.0\.1:\d+$/],
    [
      { S3_SECRET_ACCESS_KEY: 'wrong' },
      /^S3_ACCESS_KEY_ID: .* refuses these credentials for the bucket media$/,
    ],
    [{ S3_REGION: 'us-east-1' }, /^S3_ENDPOINT or S3_REGION: .* answers 400 for the bucket media$/],
  ])('stops at %p with one line', async (changes, message) => {
    const error = await start(changes as Record<string, string>).catch((thrown: Error) => thrown);
    expect(error).toBeInstanceOf(ConfigError);
    expect((error as Error).message).toMatch(message);
  });

  test('warns about a bucket that keeps deleted objects', async () => {
    // the store of these tests has no versions: this one answers like Amazon's
    const versioned = createServer((request, response) => {
      const body = '<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>';
      response.setHeader('content-type', 'application/xml');
      response.end(request.url?.includes('versioning') ? body : '');
    });
    await new Promise<void>((resolve) => versioned.listen(0, '127.0.0.1', resolve));
    const { port } = versioned.address() as AddressInfo;
    const { warned } = await start({ S3_ENDPOINT: `http://127.0.0.1:${port}` });
    versioned.closeAllConnections();
    versioned.close();
    expect(warned).toEqual([expect.stringMatching(/keeps versions.*lifecycle rule/)]);
  });

  test('continues with a warning while the store is away', async () => {
    const { warned } = await start({ S3_ENDPOINT: 'http://127.0.0.1:1' });
    expect(warned).toEqual(['the S3 store cannot be reached']);
  });

  test.each([408, 429, 503])(
    'continues with a warning while the store answers %i',
    async (status) => {
      const busy = createServer((_, response) => response.writeHead(status).end());
      const { warned } = await start({ S3_ENDPOINT: await listening(busy) });
      expect(warned).toEqual(['the S3 store cannot be reached']);
      // the SDK waits longer between its tries after a 429
    },
    30_000,
  );

  test('rejects an API on remote storage', async () => {
    const none = {
      S3_ENDPOINT: '',
      S3_REGION: '',
      S3_BUCKET: '',
      S3_ACCESS_KEY_ID: '',
      S3_SECRET_ACCESS_KEY: '',
      S3_FORCE_PATH_STYLE: '',
    };
    await expect(start({ ...none, STORAGE: 'remote', STORAGE_URL: 'http://127.0.0.1:1' })).rejects.toThrow(
      'STORAGE is remote, but this is the API that remote storage uses',
    );
  });
});

function sdk(): S3Client {
  const { endpoint, region, forcePathStyle, accessKeyId, secretAccessKey } = server.location;
  return new S3Client({ endpoint, region, forcePathStyle, credentials: { accessKeyId, secretAccessKey } });
}

function statusWithHost(port: number, url: URL): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(
      { host: '127.0.0.1', port, path: url.pathname + url.search, headers: { host: url.host } },
      (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      },
    );
    sent.once('error', reject);
    sent.end();
  });
}

async function listening(http: Server): Promise<string> {
  listeners.push(http);
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
}

/** Passes requests on unchanged, and calls a function before each. */
async function startForwarder(port: number, before: (method: string) => Promise<void>) {
  const proxy = createServer((request, response) => {
    const { method = 'GET', url, headers } = request;
    void before(method).then(() => {
      const onward = httpRequest({ host: '127.0.0.1', port, method, path: url, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(response);
      });
      onward.once('error', () => response.destroy());
      request.pipe(onward);
    });
  });
  return { url: await listening(proxy) };
}

import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import express from 'express';
import { mediaRoutes } from '../../src/generations/media.routes.ts';
import { createStorageTokenGuard } from '../../src/generations/storage-token-guard.ts';
import { mediaUploadPage, workerStoragePage } from '../../src/generations/worker-storage.routes.ts';
import { createHttpServer } from '../../src/http/http-server.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { AppError } from '../../src/lib/errors.ts';
import { createUploadSigner } from '../../src/media/signed-upload.ts';
import { createUrlSigner } from '../../src/media/signed-url.ts';
import type { Storage } from '../../src/media/storage.types.ts';
import { createFileStorage } from '../../src/media/storage-fs.ts';
import { RemoteStorage } from '../../src/media/storage-remote.ts';
import { S3Storage } from '../../src/media/storage-s3.ts';
import { UsedUploads } from '../../src/media/used-uploads.ts';
import { eventually } from '../factories/eventually.ts';
import { S3_SERVER_TIMEOUT_MS, type S3Server, startS3Server } from '../setup/s3-server.ts';
import { testFolder } from './media-tools.ts';

const SECRET = 'a secret of the installation, for tests';
const TOKEN = 'a-storage-token-for-tests-long-enough';
const PUBLIC_URL = 'https://public.example';
const IDLE_MS = 1_000;
const FAST = { connectMs: 1_000, answerMs: 2_000, idleMs: 2_000, totalMs: 5_000 };

interface Api {
  readonly url: string;
  readonly seen: string[];
  close(): void;
}

let folder: Awaited<ReturnType<typeof testFolder>>;
let source: string;
let nowMs: () => number = Date.now;
let keys = 0;
const closers: (() => Promise<void> | void)[] = [];
const clock = { now: () => nowMs() };

function newKey(extension = 'png', namespace = 'acct'): string {
  keys += 1;
  return `${namespace}/acc_1/2026-01/task-${keys}/0-original-0123456789abcdef.${extension}`;
}

/** Starts the API's side of remote storage on the real HTTP server. */
async function startApi(storage: Storage, grant?: S3Storage): Promise<Api> {
  const uploads = createUploadSigner(SECRET, clock);
  const signer = createUrlSigner({ publicUrl: PUBLIC_URL, secret: SECRET, clock });
  const uploadFolder = await folder.sub(`uploads-${randomBytes(4).toString('hex')}`);
  const grantUpload = grant?.grantUpload ?? uploads.grantUpload;
  const guard = createStorageTokenGuard([TOKEN], clock);
  const seen: string[] = [];
  const app = express();
  app.set('query parser', 'simple');
  app.use((request, _response, next) => {
    seen.push(`${request.method} ${request.path}`);
    next();
  });
  app.use('/internal/v1', workerStoragePage({ storage, guard, grantUpload, publicUrl: PUBLIC_URL }));
  const used = new UsedUploads(uploadFolder, clock);
  const limits = { idleMs: IDLE_MS, totalMs: 60_000 };
  app.use('/media-upload', mediaUploadPage(uploads, { storage, folder: uploadFolder, used, ...limits }));
  const [media] = mediaRoutes({ storage, signer, clock });
  app.get('/media/*key', async (request, response) => {
    const { signal } = new AbortController();
    const context = {
      params: { key: (request.params.key as unknown as string[]).join('/') },
      query: request.query,
      headers: request.headers,
      response,
      signal,
    };
    await media?.handle(context as never);
  });
  app.use(((error, _request, response, _next) => {
    const known = error instanceof AppError ? error : new AppError('internal_error', String(error));
    response.status(known.status).json({ error: { code: known.code, message: known.message } });
  }) as express.ErrorRequestHandler);
  return await listen(app, seen);
}

async function listen(app: express.Express, seen: string[] = []): Promise<Api> {
  const server = createHttpServer(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  closers.push(close);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen, close };
}

function remote(url: string, token = TOKEN): RemoteStorage {
  const storage = new RemoteStorage({ url, token, clocks: FAST });
  closers.push(() => storage.close());
  return storage;
}

let local: Storage;
let api: Api;

beforeAll(async () => {
  folder = await testFolder();
  source = join(folder.path, 'source.png');
  await writeFile(source, '0123456789');
  const signer = createUrlSigner({ publicUrl: PUBLIC_URL, secret: SECRET, clock });
  local = await createFileStorage({ root: join(folder.path, 'media'), sign: signer.sign });
  api = await startApi(local);
});

afterAll(async () => {
  await Promise.all(closers.map((close) => close()));
  await folder?.remove();
});

async function behavesAsStorage(storage: Storage, name: string): Promise<void> {
  const key = newKey();
  const stored = { key, bytes: 10, mediaType: 'image/png' };
  expect(await storage.putFile(key, source, 'image/png')).toEqual(stored);
  expect(await storage.stat(key)).toEqual(stored);
  expect(await text(await storage.read(key))).toBe('0123456789');
  expect(await text(await storage.read(key, { start: 3, end: 5 }))).toBe('345');
  const copy = join(folder.path, `copy-${name}`);
  await storage.getFile(key, copy);
  expect(await readFile(copy, 'utf8')).toBe('0123456789');
  await storage.putFile(key, source, 'image/png');
  await storage.delete(key);
  await storage.delete(key);
  expect(await storage.stat(key)).toBeUndefined();
  await expect(storage.read(key)).rejects.toMatchObject({ code: 'media_not_found' });
  await expect(storage.getFile(key, join(folder.path, 'none'))).rejects.toMatchObject({
    code: 'media_not_found',
  });
}

describe('remote storage over an API with a local folder', () => {
  test('behaves like any storage', async () => {
    await behavesAsStorage(remote(api.url), 'fs');
  });

  test('returns the public URL but reads over the configured address', async () => {
    const storage = remote(api.url);
    const key = newKey();
    await storage.putFile(key, source, 'image/png');
    const url = await storage.signedUrl(key, { ttlSeconds: 60, downloadName: 'x.png' });
    expect(url).toMatch(/^https:\/\/public\.example\/media\/acct\/.*dl=x\.png/);
    const answer = await fetch(url.replace(PUBLIC_URL, api.url));
    expect(answer.headers.get('content-disposition')).toContain('x.png');
    expect(await answer.text()).toBe('0123456789');
  });

  test('moves a large file without holding it in memory', async () => {
    const storage = remote(api.url);
    const key = newKey('mp4', 'raw');
    const path = join(folder.path, 'large.mp4');
    const bytes = randomBytes(24 * 1024 * 1024);
    await writeFile(path, bytes);
    await storage.putFile(key, path, 'video/mp4');
    const copy = join(folder.path, 'large-copy.mp4');
    await storage.getFile(key, copy);
    expect(sha256Of(await readFile(copy))).toBe(sha256Of(bytes));
  });

  test.each(['other/acc/x.png', '../x.png', 'raw/../x.png', 'acct/x.html', 'raw'])(
    'does not reach %p',
    async (key) => {
      const storage = remote(api.url);
      await expect(storage.putFile(key, source, 'image/png')).rejects.toThrow('remote storage');
      expect(await storage.stat(key)).toBeUndefined();
      await expect(storage.read(key)).rejects.toMatchObject({ code: 'media_not_found' });
      await storage.delete(key);
      const asked = await ask('POST', '/uploads', { key, bytes: 1, sha256: '0'.repeat(64) });
      expect(asked.status).toBe(400);
      expect((await ask('GET', `/objects/${encodeURIComponent(key)}`)).status).toBe(404);
      expect((await ask('DELETE', `/objects/${encodeURIComponent(key)}`)).status).toBe(404);
    },
  );
});

describe('the storage guard', () => {
  test('accepts only the token and shuts out a client that keeps guessing', async () => {
    const fresh = await startApi(local);
    const status = async (token?: string) =>
      (
        await fetch(`${fresh.url}/internal/v1/objects/${newKey()}`, {
          headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
        })
      ).status;
    expect(await status(TOKEN)).toBe(404);
    expect(await status()).toBe(401);
    expect(await status(`${TOKEN}x`)).toBe(401);
    await expect(remote(fresh.url, 'wrong').stat(newKey())).rejects.toMatchObject({ status: 401 });
    const statuses = await Promise.all(Array.from({ length: 80 }, () => status('guess')));
    expect(statuses).toContain(429);
  });
});

describe('a signed upload', () => {
  const body = Buffer.from('0123456789');

  async function grant(changes: { bytes?: number; key?: string; content?: Buffer } = {}): Promise<URL> {
    const { key = newKey(), content = body } = changes;
    const answer = await ask('POST', '/uploads', {
      key,
      bytes: changes.bytes ?? content.length,
      sha256: sha256Of(content),
    });
    expect(answer.status).toBe(201);
    return new URL(((await answer.json()) as { data: { url: string } }).data.url, api.url);
  }

  const put = async (url: URL | string, content: Buffer) =>
    await fetch(url, { method: 'PUT', body: new Uint8Array(content) });

  test('works once', async () => {
    const url = await grant();
    expect((await put(url, body)).status).toBe(201);
    expect((await put(url, body)).status).toBe(409);
    const two = await grant();
    const both = await Promise.all([put(two, body), put(two, body)]);
    expect(both.map((answer) => answer.status).sort()).toEqual([201, 409]);
  });

  test('is bound to key, size, hash, expiry and method', async () => {
    const url = await grant();
    for (const [name, value] of [
      ['size', '11'],
      ['sha256', sha256Of(Buffer.from('other'))],
      ['exp', String(Date.now() + 9_999_999)],
      ['nonce', 'AAAAAAAAAAAAAAAAAAAAAA'],
      ['sig', 'AAAA'],
    ] as const) {
      const changed = new URL(url);
      changed.searchParams.set(name, value);
      expect([name, (await put(changed, body)).status]).toEqual([name, 403]);
      changed.searchParams.delete(name);
      expect([name, (await put(changed, body)).status]).toEqual([name, 403]);
    }
    const moved = new URL(url);
    moved.pathname = `/media-upload/${newKey()}`;
    expect((await put(moved, body)).status).toBe(403);
    expect((await fetch(url)).status).toBe(404);
    expect((await put(url, body)).status).toBe(201);
  });

  test('accepts only the announced bytes; a rejected one may be retried', async () => {
    const key = newKey();
    const url = await grant({ key });
    const wrong = await put(url, Buffer.from('012345678X'));
    expect([wrong.status, ((await wrong.json()) as { error: { code: string } }).error.code]).toEqual([
      400,
      'invalid_request',
    ]);
    expect((await put(url, Buffer.from('0123456789ABC'))).status).toBe(400);
    expect((await put(url, Buffer.from('012'))).status).toBe(400);
    await sendChunked(url, Buffer.alloc(2_000_000)).catch(() => undefined);
    expect(await local.stat(key)).toBeUndefined();
    expect((await put(url, body)).status).toBe(201);
    expect(await local.stat(key)).toMatchObject({ bytes: 10 });
  });

  test('expires after some minutes', async () => {
    const url = await grant();
    nowMs = () => Date.now() + 11 * 60_000;
    const late = await put(url, body);
    nowMs = Date.now;
    expect(late.status).toBe(410);
  });

  test('is not granted beyond the maximum file size', async () => {
    const granted = async (key: string, mebibytes: number) => {
      const asked = { key, bytes: mebibytes * 1024 * 1024, sha256: '0'.repeat(64) };
      return (await ask('POST', '/uploads', asked)).status;
    };
    expect(await granted(newKey('png', 'raw'), 33)).toBe(413);
    // a PNG of a photograph of 4096 × 4096 pixels
    expect(await granted(newKey(), 50)).toBe(201);
    expect(await granted(newKey(), 161)).toBe(413);
    expect(await granted(newKey('mp4'), 161)).toBe(201);
    expect(await granted(newKey('mp4'), 513)).toBe(413);
  });

  test('is given up when it stalls or breaks off, and leaves no file behind', async () => {
    const own = await startApi(local);
    const key = newKey();
    for (const how of ['stall', 'break'] as const) {
      const asked = await ask('POST', '/uploads', { key, bytes: 10, sha256: sha256Of(body) }, own.url);
      const { url } = ((await asked.json()) as { data: { url: string } }).data;
      const socket = connect(Number(new URL(own.url).port), '127.0.0.1');
      socket.on('error', () => undefined);
      const closed = new Promise((resolve) => socket.once('close', resolve));
      socket.write(`PUT ${url} HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n01234`);
      if (how === 'break') {
        setTimeout(() => socket.destroy(), 100);
      }
      socket.resume();
      await closed;
    }
    expect(await local.stat(key)).toBeUndefined();
    await eventually(
      async () => (await leftovers()).every((name) => name.endsWith('.used')),
      30_000,
      'clean upload folders',
    );
  });
});

test('lets an upload take longer than the server allows other requests', async () => {
  const uploads = createUploadSigner(SECRET, clock);
  const uploadFolder = await folder.sub('slow');
  const app = express();
  app.set('query parser', 'simple');
  const used = new UsedUploads(uploadFolder, clock);
  const limits = { storage: local, folder: uploadFolder, used, idleMs: 20_000, totalMs: 60_000 };
  app.use('/media-upload', mediaUploadPage(uploads, limits));
  app.put('/elsewhere', (request, response) => {
    request.resume().once('end', () => response.sendStatus(201));
  });
  const server = createHttpServer(app);
  server.headersTimeout = 400;
  server.requestTimeout = 500;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const port = (server.address() as AddressInfo).port;
  const key = newKey();
  const bytes = Buffer.from('0123456789');
  const granted = await uploads.grantUpload({
    key,
    mediaType: 'image/png',
    bytes: 10,
    sha256: sha256Of(bytes),
  });
  const answers = await Promise.all([
    dribble(port, `PUT ${granted.url}`, 7_000),
    dribble(port, 'PUT /elsewhere', 7_000),
  ]);
  expect(answers[0]).toContain(' 201 ');
  expect(answers[1]).not.toContain('201');
  server.closeAllConnections();
  server.close();
});

test('retries a lost answer with a new grant', async () => {
  const real = await startApi(local);
  let cut = 0;
  const flaky = await forwarder(real.url, (request) => {
    const lose = request.method === 'PUT' && cut < 2;
    cut += lose ? 1 : 0;
    return lose;
  });
  const key = newKey();
  await remote(flaky.url).putFile(key, source, 'image/png');
  expect(cut).toBe(2);
  expect(real.seen.filter((line) => line === 'POST /internal/v1/uploads')).toHaveLength(3);
  expect(await local.stat(key)).toMatchObject({ bytes: 10 });
});

test.each([403, 410])(
  'replaces an expired grant (%p), but does not retry a rejected file',
  async (status) => {
    const real = await startApi(local);
    let left = 2;
    const late = await forwarder(
      real.url,
      () => false,
      (request) => (request.method === 'PUT' && left-- > 0 ? status : 0),
    );
    const key = newKey();
    await remote(late.url).putFile(key, source, 'image/png');
    expect(left).toBe(-1);
    expect(await local.stat(key)).toMatchObject({ bytes: 10 });
    let refused = 0;
    const strict = await forwarder(
      real.url,
      () => false,
      (request) => {
        refused += request.method === 'PUT' ? 1 : 0;
        return request.method === 'PUT' ? 400 : 0;
      },
    );
    await expect(remote(strict.url).putFile(newKey(), source, 'image/png')).rejects.toMatchObject({
      status: 400,
    });
    expect(refused).toBe(1);
  },
);

test('fails after three attempts while the API is away', async () => {
  let calls = 0;
  const app = express();
  app.use((_request, response) => {
    calls += 1;
    response.writeHead(503).end();
  });
  const broken = await listen(app);
  await expect(remote(broken.url).stat(newKey())).rejects.toMatchObject({ status: 503 });
  expect(calls).toBe(3);
});

describe('remote storage over an API with a bucket', () => {
  let s3: S3Server;
  let bucket: S3Storage;

  beforeAll(async () => {
    s3 = await startS3Server();
    bucket = new S3Storage({ location: s3.location, clock: systemClock });
    closers.push(() => bucket.close());
  }, S3_SERVER_TIMEOUT_MS);

  afterAll(() => s3?.close());

  test('behaves like any storage, and the bytes do not pass through the API', async () => {
    const own = await startApi(bucket, bucket);
    await behavesAsStorage(remote(own.url), 's3');
    expect(own.seen.filter((line) => line.includes('/media'))).toEqual([]);
    expect(own.seen.some((line) => line.startsWith('POST'))).toBe(true);
  });
});

async function ask(method: string, path: string, body?: object, base = api.url): Promise<Response> {
  return await fetch(`${base}/internal/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
}

function sha256Of(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

async function leftovers(): Promise<string[]> {
  await mkdir(folder.path, { recursive: true });
  const folders = (await readdir(folder.path)).filter((name) => name.startsWith('uploads-'));
  return (await Promise.all(folders.map((name) => readdir(join(folder.path, name))))).flat();
}

/** Sends a body without Content-Length. */
function sendChunked(url: URL, body: Buffer): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(url, { method: 'PUT' }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    sent.once('error', reject);
    sent.write(body);
    sent.end();
  });
}

/** Sends ten bytes over that many ms. Resolves with the head of the answer, or nothing when the connection is closed. */
function dribble(port: number, line: string, milliseconds: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let answer = '';
    let sent = 0;
    socket.write(`${line} HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\nConnection: close\r\n\r\n`);
    const timer = setInterval(() => {
      socket.write(String(sent));
      sent += 1;
      if (sent === 10) {
        clearInterval(timer);
      }
    }, milliseconds / 10);
    socket.on('data', (chunk) => {
      answer += chunk.toString();
    });
    socket.on('error', () => undefined);
    socket.once('close', () => {
      clearInterval(timer);
      resolve(answer);
    });
  });
}

/** Forwards to a server. Answers some requests with a status itself, and loses the answers to others after the server has acted. */
async function forwarder(
  target: string,
  loses: (request: IncomingMessage) => boolean,
  refuses: (request: IncomingMessage) => number = () => 0,
): Promise<Api> {
  const proxy = createServer((request, response) => {
    const status = refuses(request);
    if (status !== 0) {
      request.resume().once('end', () => response.writeHead(status).end());
      return;
    }
    const lose = loses(request);
    const onward = httpRequest(
      new URL(request.url ?? '/', target),
      { method: request.method, headers: request.headers },
      (answer) => {
        if (lose) {
          answer.resume().once('end', () => request.socket.destroy());
          return;
        }
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(response);
      },
    );
    request.pipe(onward);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const close = () => {
    proxy.closeAllConnections();
    proxy.close();
  };
  closers.push(close);
  return { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, seen: [], close };
}

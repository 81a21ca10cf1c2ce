import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { divertBase64 } from '../../src/engines/divert-base64.ts';
import { downloadOutput } from '../../src/engines/download-output.ts';
import {
  engineFailureOfStatus,
  isOutcomeUnknown,
  SUBMIT_UNCONFIRMED,
} from '../../src/engines/engine-failures.ts';
import { fitSeed, fitSize } from '../../src/engines/request-fit.ts';
import type { UpstreamResponse } from '../../src/engines/upstream-answer.ts';
import { UpstreamHttp } from '../../src/engines/upstream-http.ts';
import { bytesOf } from '../../src/lib/file-content.ts';
import { temporaryFolder } from '../factories/temporary-folder.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

let server: Server;
let base: string;
let handler: Handler;
let http: UpstreamHttp;
let folder: string;
const seen: { url: string; authorization: string | undefined; connection: string | undefined }[] = [];
const { signal } = new AbortController();

beforeAll(async () => {
  server = createServer((request, response) => {
    const { authorization, connection } = request.headers;
    seen.push({ url: request.url ?? '', authorization, connection });
    handler(request, response);
  });
  server.listen(0, '0.0.0.0');
  await once(server, 'listening');
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  http = client();
});

beforeEach(() => {
  seen.length = 0;
  folder = temporaryFolder('http');
});

afterAll(async () => {
  await http?.close();
  server?.closeAllConnections();
  await server?.[Symbol.asyncDispose]();
});

function client(
  changes: { firstByteMs?: number; idleMs?: number; privateDownloads?: boolean } = {},
): UpstreamHttp {
  return new UpstreamHttp({
    baseUrl: `${base}/api/`,
    headers: { authorization: 'Bearer sk-engine' },
    connectMs: 500,
    firstByteMs: 2_000,
    idleMs: 2_000,
    totalMs: 5_000,
    privateDownloads: false,
    ...changes,
  });
}

async function download(from: string, options: { through?: UpstreamHttp } = {}): Promise<Buffer> {
  const path = join(folder, 'output-0.bin');
  const { through = http } = options;
  await downloadOutput(through, { from, path, kind: 'image', signal });
  return readFileSync(path);
}

test('sends calls below the base URL with our headers, and submits on connections of their own', async () => {
  handler = (_request, response) => response.end('{"ok":true}');
  expect(await http.expect({ method: 'GET', path: '/things?a=1', signal })).toEqual({ ok: true });
  await http.submit({ method: 'POST', path: '/things', json: {}, signal }, undefined);
  expect(seen).toEqual([
    { url: '/api/things?a=1', authorization: 'Bearer sk-engine', connection: 'keep-alive' },
    { url: '/api/things', authorization: 'Bearer sk-engine', connection: 'close' },
  ]);
});

test('asks for bodies as they are, and reads those that come compressed or with a byte order mark anyway', async () => {
  const asked: unknown[] = [];
  handler = (request, response) => {
    asked.push(request.headers['accept-encoding']);
    const isFile = request.url?.endsWith('.png');
    response.writeHead(200, { 'content-encoding': 'gzip' });
    response.end(gzipSync(isFile ? 'the file' : '\uFEFF{"ok":true}'));
  };
  expect(await http.expect({ method: 'GET', path: '/x', signal })).toEqual({ ok: true });
  await http.submit({ method: 'POST', path: '/x', json: {}, signal }, SUBMIT_UNCONFIRMED);
  expect((await download('/out.png')).toString()).toBe('the file');
  const read = (response: UpstreamResponse) => divertBase64(response.chunks, into('coded'));
  expect((await http.exchange({ method: 'GET', path: '/x', signal }, 'call', read)).json).toEqual({
    ok: true,
  });
  expect(asked).toEqual(Array(4).fill('identity'));
  handler = (_request, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(40_000_000)));
  };
  await expect(download('/bomb.png')).rejects.toMatchObject({ failure: { code: 'output_too_large' } });
});

test('never follows a redirect of a call', async () => {
  handler = (_request, response) => response.writeHead(302, { location: '/elsewhere' }).end();
  await expect(http.expect({ method: 'GET', path: '/x', signal })).rejects.toMatchObject({
    failure: { code: 'upstream_error' },
  });
  await expect(
    http.submit({ method: 'POST', path: '/x', json: {}, signal }, SUBMIT_UNCONFIRMED),
  ).rejects.toMatchObject({ failure: { code: 'submit_unconfirmed' } });
  expect(seen.map(({ url }) => url)).toEqual(['/api/x', '/api/x']);
});

test('limits each phase with its own timeout', async () => {
  const timeout = { failure: { code: 'upstream_timeout', retryable: true } };
  const impatient = client({ firstByteMs: 60, idleMs: 60 });
  const startedAt = Date.now();
  handler = () => undefined;
  await expect(impatient.expect({ method: 'GET', path: '/silent', signal })).rejects.toMatchObject(timeout);
  handler = (_request, response) => {
    response.writeHead(200);
    response.write('{"half":');
  };
  await expect(impatient.expect({ method: 'GET', path: '/stalls', signal })).rejects.toMatchObject(timeout);
  // The timeout of a whole call is five seconds.
  expect(Date.now() - startedAt).toBeLessThan(4_000);
  await impatient.close();
});

test('times out an answer in small pieces only when the whole takes too long', async () => {
  handler = (_request, response) => {
    response.writeHead(200);
    const timer = setInterval(() => response.write(' '), 20);
    response.once('close', () => clearInterval(timer));
  };
  const patient = client({ idleMs: 5_000 });
  const call = { method: 'GET' as const, path: '/drips', signal, totalMs: 200 };
  await expect(patient.expect(call)).rejects.toMatchObject({ failure: { code: 'upstream_timeout' } });
  await patient.close();
});

/** Answers every request except the second, whose connection breaks. */
function breakTheSecond(): void {
  handler = (request, response) => {
    if (seen.length === 2) {
      request.socket.destroy();
      return;
    }
    response.end('{"ok":true}');
  };
}

test('tolerates a kept connection that the peer closes at that moment', async () => {
  breakTheSecond();
  const call = { method: 'GET' as const, path: '/x', signal };
  expect([await http.expect(call), await http.expect(call)]).toEqual([{ ok: true }, { ok: true }]);
  expect(seen).toHaveLength(3);
});

test.each([
  ['call', 'once more', 3],
  ['submit', 'never again', 2],
] as const)('sends a %s whose connection breaks before the answer %s', async (purpose, _again, sent) => {
  breakTheSecond();
  const exchange = () =>
    http.exchange({ method: 'POST', path: '/x', json: {}, signal }, purpose, async ({ status }) => status);
  await exchange();
  const [second] = await Promise.allSettled([exchange()]);
  expect(second.status).toBe(purpose === 'call' ? 'fulfilled' : 'rejected');
  expect(seen).toHaveLength(sent);
  expect(seen.some(({ connection }) => connection === 'keep-alive')).toBe(purpose === 'call');
});

test('does not ask again for an answer that breaks off: what was read may already be on disk', async () => {
  handler = (request, response) => {
    response.writeHead(200);
    response.write('{"half":');
    setImmediate(() => request.socket.destroy());
  };
  await expect(http.expect({ method: 'GET', path: '/breaks', signal })).rejects.toMatchObject({
    failure: { code: 'upstream_interrupted' },
  });
  expect(seen).toHaveLength(1);
});

test('does not read an answer over the limit to its end', async () => {
  handler = (_request, response) => response.end(Buffer.alloc(5 * 1024 * 1024, 0x20));
  await expect(http.expect({ method: 'GET', path: '/long', signal })).rejects.toMatchObject({
    failure: { code: 'upstream_malformed' },
  });
});

test('lets a submit that is under way when the task is aborted still return its reference', async () => {
  const abort = new AbortController();
  handler = (_request, response) => {
    abort.abort(new Error('shutdown'));
    setTimeout(() => response.end('{"id":"run-1"}'), 30);
  };
  const call = { method: 'POST' as const, path: '/x', json: {}, signal: abort.signal };
  expect((await http.submit(call, SUBMIT_UNCONFIRMED)).json).toEqual({ id: 'run-1' });
  await expect(http.submit(call, SUBMIT_UNCONFIRMED)).rejects.toThrow('shutdown');
  expect(seen).toHaveLength(1);
});

test('ends other calls with the signal and its reason', async () => {
  const abort = new AbortController();
  handler = () => abort.abort(new Error('canceled'));
  await expect(http.call({ method: 'GET', path: '/x', signal: abort.signal })).rejects.toThrow('canceled');
});

test('follows redirects of an output on the same host and stops in a loop', async () => {
  handler = ({ url }, response) =>
    url === '/api/out' ? response.writeHead(307, { location: '/final' }).end() : response.end('file');
  expect((await download('/out')).toString()).toBe('file');
  handler = (_request, response) => response.writeHead(302, { location: '/again' }).end();
  await expect(download('/loop')).rejects.toMatchObject({
    failure: { code: 'output_refused', retryable: false },
  });
});

test.each([
  ['/', 404, true],
  // services that handle unknown paths like their own errors
  ['/', 500, true],
  ['/', 503, false],
  ['/', 522, false],
  ['/queue', 404, true],
  ['/queue', 500, false],
])('a server whose %s has status %i answers: %s', async (path, status, isAnswering) => {
  handler = (_request, response) => response.writeHead(status).end();
  expect(await http.isAnswering(path, signal)).toBe(isAnswering);
});

test('writes an output that is a data URL, and no other kind of it', async () => {
  expect((await download(`data:image/png;base64,${Buffer.from('file').toString('base64')}`)).toString()).toBe(
    'file',
  );
  await expect(download('data:text/plain,file')).rejects.toMatchObject({
    failure: { code: 'output_refused' },
  });
  await expect(download('data:image/png;base64,')).rejects.toMatchObject({
    failure: { code: 'output_unavailable' },
  });
});

test('sends the name and password that the URL of an output holds', async () => {
  handler = (_request, response) => response.end('file');
  await download(base.replace('://', '://user:p%40s:s@'));
  expect(seen).toMatchObject([{ authorization: `Basic ${Buffer.from('user:p@s:s').toString('base64')}` }]);
});

test('asks other hosts only where the engine allows it, and never sends them our key', async () => {
  handler = (_request, response) => response.end('file');
  const elsewhere = base.replace('127.0.0.1', '127.0.0.2');
  const refused = { failure: { code: 'output_refused' } };
  await expect(download(`${elsewhere}/out`)).rejects.toMatchObject(refused);
  for (const odd of ['ftp://example.com/out', '@example.com/out', 'file:///etc/passwd', '']) {
    await expect(download(odd)).rejects.toMatchObject(refused);
  }
  expect(seen).toEqual([]);
  const open = client({ privateDownloads: true });
  expect((await download(`${elsewhere}/out`, { through: open })).toString()).toBe('file');
  expect(seen).toMatchObject([{ authorization: undefined }]);
  await open.close();
});

test('does not connect to a name that leads into a private network, nor follow a redirect there', async () => {
  handler = (_request, response) => response.end('file');
  const named = base.replace('127.0.0.1', 'localhost');
  await expect(download(`${named}/out`)).rejects.toMatchObject({ failure: { code: 'upstream_unreachable' } });
  expect(seen).toEqual([]);
  handler = (_request, response) =>
    response.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data' }).end();
  await expect(download('/out')).rejects.toMatchObject({ failure: { code: 'output_refused' } });
});

test("does not ask other ports of the engine's host for outputs", async () => {
  const other = new URL(base);
  other.port = '9';
  await expect(download(`${other.href}/out`)).rejects.toMatchObject({ failure: { code: 'output_refused' } });
  handler = (_request, response) => response.writeHead(302, { location: `${other.href}/out` }).end();
  await expect(download('/out')).rejects.toMatchObject({ failure: { code: 'output_refused' } });
});

test('drops an output over the limit as soon as that shows, and leaves no file', async () => {
  handler = (_request, response) => {
    response.writeHead(200);
    const more = () => {
      while (response.write(Buffer.alloc(1024 * 1024))) {}
      response.once('drain', more);
    };
    more();
  };
  await expect(download('/endless')).rejects.toMatchObject({
    failure: { code: 'output_too_large', retryable: false },
  });
  expect(readdirSync(folder)).toEqual([]);
});

test('treats an empty output as unavailable', async () => {
  handler = (_request, response) => response.end();
  await expect(download('/empty')).rejects.toMatchObject({ failure: { code: 'output_unavailable' } });
});

test('always reports a delay for a 429, never zero; for a 503 only if one was given', () => {
  expect(engineFailureOfStatus(429, undefined)).toMatchObject({
    code: 'upstream_rate_limited',
    retryAfterMs: 5_000,
  });
  expect(engineFailureOfStatus(429, 0)).toMatchObject({ retryAfterMs: 500 });
  expect(engineFailureOfStatus(503, 7_000)).toMatchObject({ code: 'upstream_busy', retryAfterMs: 7_000 });
  expect(engineFailureOfStatus(503, undefined)).not.toHaveProperty('retryAfterMs');
});

test('prefers a delay given in ms', async () => {
  handler = (_request, response) =>
    response.writeHead(429, { 'retry-after': '3', 'retry-after-ms': '2250' }).end('{}');
  const { failure } = await http.call({ method: 'POST', path: '/limited', signal });
  expect(failure).toMatchObject({ code: 'upstream_rate_limited', retryAfterMs: 2_250 });
});

test('knows which answers leave open whether a run began', () => {
  expect([500, 502, 504, 302].every((status) => isOutcomeUnknown(status, undefined))).toBe(true);
  expect(isOutcomeUnknown(503, undefined)).toBe(true);
  expect([400, 401, 404, 422, 429].some((status) => isOutcomeUnknown(status, undefined))).toBe(false);
  expect(isOutcomeUnknown(503, 3_000)).toBe(false);
});

test('fits seeds and sizes to the engine, the same way each time', () => {
  expect(fitSeed(42n, 4_294_967_295)).toBe(42);
  expect(fitSeed(9_999_999_999n, 4_294_967_295)).toBe(1_410_065_407);
  expect(fitSeed(4_294_967_296n, 4_294_967_295)).toBe(0);
  expect(fitSeed(9_999_999_999n, Number.MAX_SAFE_INTEGER)).toBe(9_999_999_999);
  expect(fitSize({ width: 500, height: 512 }, 16)).toEqual({ width: 512, height: 512 });
  expect(fitSize({ width: 257, height: 1 }, 1)).toEqual({ width: 257, height: 1 });
});

async function* pieces(text: string, size: number): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) {
    yield bytes.subarray(at, at + size);
  }
}

function into(name: string) {
  return {
    member: 'b64_json',
    wants: () => true,
    pathFor: (index: number) => join(folder, `${name}-${index}`),
    fileBytesMax: 1_000,
  };
}

test.each([1, 2, 3, 7, 64, 10_000])(
  'turns base64 in JSON into files whatever the size of the pieces (%i bytes)',
  async (size) => {
    const files = [Buffer.from('first \u00ff file'), Buffer.alloc(700, 7), Buffer.from('z')];
    const json = {
      note: 'b64_json is "quoted" \\ and: {"b64_json":"bm8="}',
      error: null,
      result: { images: files.map((file, index) => ({ b64_json: file.toString('base64'), index })) },
      b64_json_not: 'kept',
      status: 'completed',
    };
    const text = JSON.stringify(json, null, size % 2 === 0 ? 2 : undefined).replaceAll('/', '\\/');
    const diverted = await divertBase64(pieces(text, size), into(`s${size}`));
    expect(await Promise.all(diverted.files.map(bytesOf))).toEqual(files);
    const images = files.map((_, index) => ({ b64_json: `#${index}`, index }));
    expect(diverted.json).toEqual({ ...json, result: { images } });
  },
);

test.each([1, 4, 5, 22, 10_000])(
  'reads base64 that comes as a data URL, in pieces of any size (%i bytes)',
  async (size) => {
    const files = ['one file', ''].map((text) => Buffer.from(text));
    const urls = files.map((file) => `data:image/png;base64,${file.toString('base64')}`);
    // words that are base64 themselves
    const text = JSON.stringify({ b64_json: [...urls, 'data', 'dat+'] }).replaceAll('/', '\\/');
    const diverted = await divertBase64(pieces(text, size), into(`url${size}`));
    const plain = ['data', 'dat+'].map((word) => Buffer.from(word, 'base64'));
    expect(diverted.files).toEqual([...files, ...plain]);
  },
);

test.each([1, 3, 5, 64, 10_000])(
  'reads base64 with escaped characters and broken lines, in pieces of any size (%i bytes)',
  async (size) => {
    const file = Buffer.from('fbefbefffe3f00ffbf', 'hex');
    const base64 = `${file.toString('base64')}${Buffer.from('z').toString('base64')}`;
    expect(base64).toMatch(/\+.*\/.*=/);
    const escaped = (characters: RegExp) =>
      base64.replace(characters, (one) => `\\u00${one.charCodeAt(0).toString(16).toUpperCase()}`);
    const broken = ['\\n', '\\r\\n', '\\u000a'].map((end) => base64.replace(/.{5}/g, `$&${end}`));
    const forms = [escaped(/[+]/g), escaped(/=/g), escaped(/./g), base64.replaceAll('/', '\\/'), ...broken];
    const text = `{"b64_json":["${forms.join('","')}"]}`;
    const { files } = await divertBase64(pieces(text, size), into(`escaped${size}`));
    expect(files).toEqual(forms.map(() => Buffer.concat([file, Buffer.from('z')])));
  },
);

test('writes a file too large for memory to disk, and removes it when its text breaks off', async () => {
  const large = Buffer.alloc(5 * 1024 * 1024, 'large');
  const text = JSON.stringify({ data: [{ b64_json: 'c21hbGw=' }, { b64_json: large.toString('base64') }] });
  const diversion = { ...into('large'), fileBytesMax: 2 * large.length };
  const { files } = await divertBase64(pieces(text, 65_536), diversion);
  expect(files).toEqual([Buffer.from('small'), join(folder, 'large-1')]);
  expect((await bytesOf(files[1]!)).equals(large)).toBe(true);
  rmSync(join(folder, 'large-1'));
  await expect(divertBase64(pieces(text.slice(0, -10), 65_536), diversion)).rejects.toMatchObject({
    failure: { code: 'upstream_malformed' },
  });
  expect(readdirSync(folder)).toEqual([]);
});

test('distinguishes a disk that takes no file from a connection that breaks', async () => {
  const large = JSON.stringify({ b64_json: Buffer.alloc(5 * 1024 * 1024).toString('base64') });
  const gone = { ...into('large'), pathFor: () => join(folder, 'gone', 'file'), fileBytesMax: 6e6 };
  await expect(divertBase64(pieces(large, 65_536), gone)).rejects.toMatchObject({ code: 'ENOENT' });
  handler = (_request, response) => response.end('a file');
  const download = { from: '/file', path: join(folder, 'gone', 'file'), kind: 'image', signal } as const;
  await expect(downloadOutput(http, download)).rejects.toMatchObject({
    name: 'ScratchDiskError',
    code: 'ENOENT',
  });
});

test('leaves no file for base64 that is too long or breaks off', async () => {
  const long = JSON.stringify({ b64_json: Buffer.alloc(1_001).toString('base64') });
  await expect(divertBase64(pieces(long, 100), into('long'))).rejects.toMatchObject({
    failure: { code: 'output_too_large' },
  });
  await expect(divertBase64(pieces(long.slice(0, 500), 100), into('cut'))).rejects.toMatchObject({
    failure: { code: 'upstream_malformed' },
  });
  const rest = JSON.stringify({ noise: 'x'.repeat(1_100_000) });
  await expect(divertBase64(pieces(rest, 65_536), into('rest'))).rejects.toMatchObject({
    failure: { code: 'upstream_malformed' },
  });
  expect(readdirSync(folder)).toEqual([]);
});

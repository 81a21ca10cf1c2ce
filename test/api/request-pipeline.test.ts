import { STATUS_CODES } from 'node:http';
import { z } from 'zod';
import { defineRoute } from '../../src/http/route.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { createAccount } from '../factories/account.ts';
import { createKey, type TestKey } from '../factories/api-key.ts';
import { rawHttp } from './support/raw-http.ts';
import { startTestServer, type TestServer } from './support/test-server.ts';

const echo = (path: string, envelope: 'data' | 'bare' | 'task') =>
  defineRoute({
    method: 'post',
    path,
    operationId: path,
    summary: 'echo',
    tag: 'Test',
    access: 'inference',
    envelope,
    body: z.object({ text: z.string(), parts: z.array(z.object({ kind: z.literal('a') })).optional() }),
    bodyBytesMax: 2_000,
    response: { status: 200, schema: z.any() },
    errors: [],
    async handle({ body, requestId, headers }) {
      if (body.text === 'throw') {
        throw new Error('secret detail');
      }
      return { body: { data: { text: body.text, requestId, version: headers['vendorx-version'] ?? null } } };
    },
  });

let server: TestServer;
let owner: TestKey;

beforeAll(async () => {
  server = await startTestServer({
    extraRoutes: [echo('/api/v1/echo', 'data'), echo('/v3/async/echo', 'task')],
    aliases: { paths: { '/v1/echo': '/api/v1/echo' }, headers: { 'anthropic-version': 'vendorx-version' } },
    log: createLogger({ name: 'test', level: 'silent' }),
  });
  owner = await createKey(server.database, (await createAccount(server.database)).id);
});
afterAll(() => server?.close());

function expectEnvelope(answer: { json: unknown; headers: Headers }): void {
  expect(answer.json).toEqual({
    error: { code: expect.any(String), message: expect.any(String), type: expect.any(String) },
    request_id: answer.headers.get('x-request-id'),
  });
}

describe('every error has the envelope', () => {
  const json = { 'content-type': 'application/json' };
  test.each<
    [string, string, string, { headers?: Record<string, string>; raw?: string | Buffer }, number, string]
  >([
    ['unknown path', 'GET', '/api/v1/nothing', {}, 404, 'route_not_found'],
    ['the root', 'GET', '/', {}, 404, 'route_not_found'],
    ['trailing slash', 'GET', '/api/v1/keys/', {}, 404, 'route_not_found'],
    ['different case', 'GET', '/API/v1/keys', {}, 404, 'route_not_found'],
    ['wrong method', 'PUT', '/api/v1/keys', {}, 405, 'method_not_allowed'],
    ['wrong method on an item', 'POST', '/api/v1/keys/abc', {}, 405, 'method_not_allowed'],
    ['broken percent-encoding', 'GET', '/api/v1/models/%E0%A4', {}, 400, 'invalid_request'],
    ['no body', 'POST', '/api/v1/echo', {}, 400, 'invalid_request'],
    [
      'no content type',
      'POST',
      '/api/v1/echo',
      { raw: Buffer.from('{}'), headers: { 'content-type': '' } },
      415,
      'unsupported_media_type',
    ],
    [
      'form body',
      'POST',
      '/api/v1/echo',
      { raw: 'a=1', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
      415,
      'unsupported_media_type',
    ],
    [
      'text body',
      'POST',
      '/api/v1/echo',
      { raw: '{}', headers: { 'content-type': 'text/plain' } },
      415,
      'unsupported_media_type',
    ],
    [
      'latin-1 body',
      'POST',
      '/api/v1/echo',
      { raw: '{}', headers: { 'content-type': 'application/json; charset=latin1' } },
      415,
      'unsupported_media_type',
    ],
    [
      'compressed body',
      'POST',
      '/api/v1/echo',
      { raw: '{}', headers: { ...json, 'content-encoding': 'gzip' } },
      415,
      'unsupported_media_type',
    ],
    ['empty body', 'POST', '/api/v1/echo', { raw: '', headers: json }, 400, 'invalid_json'],
    ['truncated JSON', 'POST', '/api/v1/echo', { raw: '{"text":', headers: json }, 400, 'invalid_json'],
    ['JSON with a comment', 'POST', '/api/v1/echo', { raw: '{} // x', headers: json }, 400, 'invalid_json'],
    [
      'bytes that are not UTF-8',
      'POST',
      '/api/v1/echo',
      { raw: Buffer.from([0x22, 0xff, 0x22]), headers: json },
      400,
      'invalid_json',
    ],
    [
      '201 levels',
      'POST',
      '/api/v1/echo',
      { raw: '['.repeat(201) + ']'.repeat(201), headers: json },
      400,
      'invalid_request',
    ],
    ['an array', 'POST', '/api/v1/echo', { raw: '[]', headers: json }, 400, 'invalid_request'],
    [
      'a field of the wrong type',
      'POST',
      '/api/v1/echo',
      { raw: '{"text":5}', headers: json },
      400,
      'invalid_parameter',
    ],
    [
      'one byte too many',
      'POST',
      '/api/v1/echo',
      { raw: `{"text":"${'x'.repeat(1_990)}"}`, headers: json },
      413,
      'payload_too_large',
    ],
    [
      'a megabyte too many',
      'POST',
      '/api/v1/echo',
      { raw: 'x'.repeat(1_000_000), headers: json },
      413,
      'payload_too_large',
    ],
  ])('%s', async (_, method, path, options, status, code) => {
    const answer = await server.call(method, path, { key: owner.secret, ...options });
    expect([answer.status, answer.json.error.code]).toEqual([status, code]);
    expectEnvelope(answer);
  });

  test('accepts a body of exactly the maximum size', async () => {
    const raw = `{"text":"${'x'.repeat(1_989)}"}`;
    expect(raw).toHaveLength(2_000);
    expect((await server.call('POST', '/api/v1/echo', { key: owner.secret, raw })).status).toBe(200);
  });

  test('an unexpected failure is a 500 that reveals nothing', async () => {
    const answer = await server.call('POST', '/api/v1/echo', { key: owner.secret, body: { text: 'throw' } });
    expect([answer.status, answer.json.error.code]).toEqual([500, 'internal_error']);
    expectEnvelope(answer);
    expect(answer.text).not.toContain('secret detail');
  });

  test('the message names the path of the invalid field', async () => {
    const body = { text: 'x', parts: [{ kind: 'a' }, { kind: 'b' }] };
    const answer = await server.call('POST', '/api/v1/echo', { key: owner.secret, body });
    expect(answer.json.error.message).toMatch(/^parts\[1\]\.kind: /);
  });
});

describe('below HTTP', () => {
  test.each([
    [
      'headers of 20 kB',
      `GET /healthz HTTP/1.1\r\nHost: x\r\nx-big: ${'y'.repeat(20_000)}\r\n\r\n`,
      431,
      'headers_too_large',
    ],
    ['a URL of 20 kB', `GET /${'y'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431, 'headers_too_large'],
    ['nonsense', 'NONSENSE\r\n\r\n', 400, 'invalid_request'],
    ['an unknown method', 'FETCH / HTTP/1.1\r\nHost: x\r\n\r\n', 400, 'invalid_request'],
    [
      'both a length and chunks',
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
      'invalid_request',
    ],
    ['no Host', 'GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n', 400, 'invalid_request'],
    [
      'an unknown expectation',
      'GET /nowhere HTTP/1.1\r\nHost: x\r\nExpect: tea\r\nConnection: close\r\n\r\n',
      404,
      'route_not_found',
    ],
  ])('%s', async (_, request, status, code) => {
    const answer = await rawHttp(server.port, request);
    expect(answer.status).toBe(status);
    expect(answer.head.split('\r\n', 1)[0]).toBe(`HTTP/1.1 ${status} ${STATUS_CODES[status]}`);
    expect(answer.head.toLowerCase()).toContain('content-type: application/json');
    const body = JSON.parse(answer.body);
    expect(body.error.code).toBe(code);
    expect(answer.head).toContain(`x-request-id: ${body.request_id}`);
  });

  test('limits a chunked body without a length, too', async () => {
    const chunk = `${(1000).toString(16)}\r\n${'x'.repeat(1000)}\r\n`;
    const answer = await rawHttp(
      server.port,
      `POST /api/v1/echo HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${owner.secret}\r\nContent-Type: application/json\r\n` +
        `Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(5)}0\r\n\r\n`,
    );
    expect(answer.status).toBe(413);
  });
});

describe('asynchronous paths', () => {
  test.each<[string, string, object, number, string]>([
    ['POST', '/v3/async/echo', { body: { text: 5 } }, 400, 'INVALID_REQUEST_BODY'],
    ['POST', '/v3/async/nothing', { body: {} }, 404, 'API_NOT_FOUND'],
    ['GET', '/v3/async/echo', {}, 405, 'METHOD_NOT_ALLOWED'],
    ['POST', '/v3/async/echo', { body: {}, key: 'wrong' }, 401, 'INVALID_API_KEY'],
  ])('%s %s answers in both forms', async (method, path, options, status, reason) => {
    const answer = await server.call(method, path, { key: owner.secret, ...options });
    expect(answer.status).toBe(status);
    expect(answer.json).toEqual({
      code: status,
      reason,
      message: expect.any(String),
      metadata: expect.any(Object),
      error: { code: expect.any(String), message: answer.json.message, type: expect.any(String) },
      request_id: answer.headers.get('x-request-id'),
    });
  });

  test('metadata names the invalid field', async () => {
    const answer = await server.call('POST', '/v3/async/echo', { key: owner.secret, body: { text: 5 } });
    expect(Object.keys(answer.json.metadata)).toEqual(['text']);
  });
});

describe('request ids', () => {
  test.each(['abc', '!', '~'.repeat(128), 'a/b"c'])('keeps %s', async (id) => {
    const answer = await server.call('GET', '/api/v1/key', {
      key: owner.secret,
      headers: { 'x-request-id': id },
    });
    expect(answer.headers.get('x-request-id')).toBe(id);
    expect(answer.json.request_id).toBe(id);
  });

  test.each(['', 'has space', 'x'.repeat(129), 'ü'])('replaces %j', async (id) => {
    const answer = await server.call('GET', '/api/v1/key', {
      key: owner.secret,
      headers: { 'x-request-id': id },
    });
    expect(answer.json.request_id).toMatch(/^req_[0-9A-HJKMNP-TV-Z]{26}$/);
    expect(answer.headers.get('x-request-id')).toBe(answer.json.request_id);
  });
});

describe('methods', () => {
  test('405 lists the allowed methods', async () => {
    const answer = await server.call('PUT', '/api/v1/keys/abc');
    expect(answer.headers.get('allow')).toBe('GET, PATCH, DELETE, HEAD, OPTIONS');
  });

  test('OPTIONS answers 204 with Allow', async () => {
    const answer = await server.call('OPTIONS', '/api/v1/keys');
    expect([answer.status, answer.headers.get('allow'), answer.text]).toEqual([
      204,
      'POST, GET, HEAD, OPTIONS',
      '',
    ]);
  });

  test('HEAD is GET without a body', async () => {
    const answer = await server.call('HEAD', '/api/v1/key', { key: owner.secret });
    expect([answer.status, answer.text]).toEqual([200, '']);
    expect(Number(answer.headers.get('content-length'))).toBeGreaterThan(100);
  });
});

describe('aliases', () => {
  test("answers a client's wrong base URL with the right one", async () => {
    const { status, json } = await server.call('POST', '/v1/v1/messages?beta=true', { body: {} });
    expect([status, json.error.message]).toEqual([
      404,
      'there is no POST /v1/v1/messages; set the base URL of this client to the address of this service alone, without a path',
    ]);
  });

  test('an alias path and an alias header reach the route', async () => {
    const headers = { 'anthropic-version': '2023-06-01' };
    const answer = await server.call('POST', '/v1/echo', { key: owner.secret, body: { text: 'a' }, headers });
    expect(answer.json.data).toMatchObject({ text: 'a', version: '2023-06-01' });
  });

  test('the canonical header takes precedence over its alias', async () => {
    const headers = { 'anthropic-version': 'a', 'vendorx-version': 'b' };
    const answer = await server.call('POST', '/api/v1/echo', {
      key: owner.secret,
      body: { text: 'a' },
      headers,
    });
    expect(answer.json.data.version).toBe('b');
  });
});

test('__proto__ in a body changes no prototype', async () => {
  const raw = '{"text":"a","__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}';
  const answer = await server.call('POST', '/api/v1/echo', { key: owner.secret, raw });
  expect(answer.status).toBe(200);
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
});

test('sets helmet headers and does not reveal Express', async () => {
  const { headers } = await server.call('GET', '/healthz');
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('content-security-policy')).toContain("default-src 'self'");
  expect(headers.get('x-powered-by')).toBeNull();
});

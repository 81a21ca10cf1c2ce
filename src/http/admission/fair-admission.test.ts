import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { jest } from '@jest/globals';
import { Registry } from 'prom-client';
import { z } from 'zod';
import { createLogger } from '../../lib/logger.ts';
import { defineRoute, type Route } from '../route.ts';
import { CallPacer } from './call-pacer.ts';
import { admitFairly } from './fair-admission.ts';

const paid = (path: string): Route =>
  defineRoute({
    method: 'post',
    path,
    operationId: 'call',
    summary: 'a paid call',
    tag: 'Test',
    access: 'inference',
    envelope: 'data',
    response: { status: 200, schema: z.object({}) },
    errors: [],
    idempotency: 'replay',
    handle: async () => ({ body: {} }),
  });
const cancel: Route = { ...paid('/cancel'), idempotency: undefined } as unknown as Route;

const ALIASES: Readonly<Record<string, string>> = { '/v1/chat': '/chat', '/orders': '/v3/async/image-turbo' };

let server: Server;
let url: string;
let isOverloaded: boolean;
let pacer: CallPacer;
const registry = new Registry();
const seen = new Map<string, string>();
const known = new Set<Socket>();

beforeAll(async () => {
  pacer = new CallPacer({
    now: () => performance.now(),
    // a database that is behind: no call begins
    delayMs: () => (isOverloaded ? 60_000 : 0),
    backlog: () => 0,
    nextTurn: (run) => setImmediate(run),
    later: (run, milliseconds) => setTimeout(run, milliseconds),
  });
  const listener = admitFairly({
    listener: (request, response) => {
      request.resume();
      request.on('end', () => response.end('served'));
    },
    routes: [paid('/chat'), paid('/v3/async/image-turbo'), cancel],
    resolve: (path) => ALIASES[path] ?? path,
    pacer,
    callers: {
      known: ({ authorization }) => (authorization === undefined ? null : seen.get(authorization)),
      introduce: async ({ authorization }) => void seen.set(String(authorization), 'account'),
    },
    onKnown: (connection) => known.add(connection),
    registry,
    log: createLogger({ name: 'test', level: 'silent' }),
  });
  server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => {
  server?.closeAllConnections();
  server?.close();
});

const call = (path: string, method = 'POST') =>
  fetch(url + path, {
    method,
    headers: { authorization: 'a key' },
    ...(method === 'POST' && { body: 'x'.repeat(100_000) }),
  });

test('a body costs as much as counting its tokens, beyond 256 kB a quarter of that, and at most 64', async () => {
  isOverloaded = false;
  const admits = jest.spyOn(pacer, 'admits');
  for (const kilobytes of [0, 16, 256, 320, 20_000]) {
    await fetch(`${url}/chat`, { method: 'POST', body: 'x'.repeat(kilobytes * 1_024) });
  }
  expect(admits.mock.calls.map(([cost]) => cost)).toEqual([1, 2, 17, 18, 65]);
  admits.mockRestore();
});

test('with capacity to spare, everything is served', async () => {
  isOverloaded = false;
  expect(await (await call('/chat')).text()).toBe('served');
});

test.each(['/chat', '/v1/chat', '/chat?x=1'])(
  'when overloaded, POST %s is asked to retry later',
  async (path) => {
    isOverloaded = true;
    const answer = await call(path);
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).toMatch(/^[1-5]$/);
    expect(await answer.json()).toEqual({
      error: { code: 'service_unavailable', message: expect.any(String), type: 'overloaded_error' },
      request_id: answer.headers.get('x-request-id'),
    });
  },
);

test.each([
  ['', '/v3/async/image-turbo'],
  [', by another path', '/orders'],
])('a task request is rejected in its own error format%s', async (_, path) => {
  isOverloaded = true;
  expect(await (await call(path)).json()).toMatchObject({
    code: 503,
    reason: 'SERVICE_NOT_AVAILABLE',
  });
});

test.each([
  ['GET', '/chat'],
  ['POST', '/cancel'],
  ['POST', '/webhooks/stripe'],
])('when overloaded, %s %s is served: it is not a paid call, or it ends something', async (method, path) => {
  isOverloaded = true;
  expect(await (await call(path, method)).text()).toBe('served');
});

test('when overloaded, callers without a valid key wait whatever they request', async () => {
  isOverloaded = true;
  const answer = await fetch(`${url}/api/v1/models`);
  expect(answer.status).toBe(503);
  expect(await (await call('/api/v1/models', 'GET')).text()).toBe('served');
});

test('a connection that showed a key is known even if its calls are rejected; a stranger is not', async () => {
  isOverloaded = true;
  known.clear();
  await (await fetch(`${url}/api/v1/models`)).text();
  expect(known.size).toBe(0);
  expect((await call('/chat')).status).toBe(503);
  expect(known.size).toBe(1);
});

test('rejected calls are counted', async () => {
  expect(await registry.metrics()).toContain('tollgate_http_requests_shed_total 8');
});

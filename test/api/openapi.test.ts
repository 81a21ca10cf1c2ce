import { readFileSync } from 'node:fs';
import type { z } from 'zod';
import { describedRoutes, documentOf } from '../../ops/openapi-routes.ts';
import { ADMIN_TOKEN, startTestServer, type TestServer } from './support/test-server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

test('openapi.json is the description of the routes; npm run generate writes it anew', () => {
  const committed = JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8'));
  expect(committed).toEqual(JSON.parse(JSON.stringify(documentOf())));
});

test('what is mounted is what is served as the description, both ways', async () => {
  const { json } = await server.call('GET', '/openapi.json');
  const described = Object.entries(json.paths as Record<string, object>).map(
    ([path, operations]) => [path, Object.keys(operations).sort().join()] as const,
  );
  const mounted = new Map<string, string[]>();
  for (const route of server.routes) {
    const path = route.path.replace('+}', '}');
    mounted.set(path, [...(mounted.get(path) ?? []), route.method]);
  }
  expect(new Map(described)).toEqual(
    new Map([...mounted].map(([path, methods]) => [path, methods.sort().join()])),
  );
  for (const [path, methods] of described) {
    const answer = await server.call('PUT', path.replace(/\{\w+\}/g, 'x'));
    expect([path, answer.status]).toEqual([path, 405]);
    const allowed = answer.headers.get('allow')?.toLowerCase().split(', ') ?? [];
    expect(
      allowed
        .filter((method) => !['head', 'options'].includes(method))
        .sort()
        .join(),
    ).toBe(methods);
  }
});

describe('every operation', () => {
  const routes = describedRoutes();

  test('has a name of its own, a summary and a success', () => {
    const ids = routes.map((route) => route.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const route of routes) {
      expect(route.summary.length).toBeGreaterThan(5);
      expect(route.response.status).toBeLessThan(400);
    }
  });

  test.each(
    routes
      .filter((route) => route.query && route.access !== 'public')
      .map((route) => [route.path, route] as const),
  )('GET %s refuses unknown query names', (_, route) => {
    const result = (route.query as z.ZodType).safeParse({ no_such_name: '1' });
    const unknown = result.error?.issues.some((issue) => issue.code === 'unrecognized_keys');
    expect(unknown).toBe(true);
  });

  test('of the interface is there', () => {
    const have = new Set(routes.map((route) => `${route.method.toUpperCase()} ${route.path}`));
    for (const operation of INTERFACE) {
      expect(have).toContain(operation);
    }
  });
});

test('/docs shows every operation and loads nothing from elsewhere', async () => {
  const { text, headers } = await server.call('GET', '/docs');
  expect(headers.get('content-type')).toContain('text/html');
  for (const route of server.routes) {
    expect(text).toContain(`id="${route.operationId}"`);
  }
  expect(text).not.toMatch(/<script|<link|src=|@import|url\(/i);
});

test('health, readiness and metrics', async () => {
  expect((await server.call('GET', '/healthz')).json).toEqual({ status: 'ok' });
  expect((await server.call('GET', '/readyz')).json).toEqual({ status: 'ready', checks: { database: true } });
  const scraped = await server.call('GET', '/metrics');
  expect(scraped.status).toBe(200);
  const forwarded = { 'x-forwarded-for': '203.0.113.9' };
  expect((await server.call('GET', '/metrics', { headers: forwarded })).status).toBe(401);
  expect((await server.call('GET', '/metrics', { headers: forwarded, key: ADMIN_TOKEN })).status).toBe(200);
});

const INTERFACE = [
  'POST /api/v1/chat/completions',
  'POST /vendorx/v1/messages',
  'GET /api/v1/models',
  'GET /api/v1/models/{model+}',
  'POST /api/v1/keys',
  'GET /api/v1/keys',
  'GET /api/v1/keys/{hash}',
  'PATCH /api/v1/keys/{hash}',
  'DELETE /api/v1/keys/{hash}',
  'GET /api/v1/key',
  'GET /api/v1/credits',
  'GET /api/v1/usage',
  'GET /api/v1/activity',
  'GET /api/v1/costs',
  'GET /api/v1/generation',
  'POST /api/v1/billing/checkout/sessions',
  'GET /api/v1/billing/checkout/sessions/{session_id}',
  'GET /api/v1/billing/balance-transactions',
  'GET /api/v1/billing/balance-transactions/{transaction_id}',
  'GET /api/v1/billing/invoices',
  'GET /api/v1/billing/invoices/{invoice_id}',
  'POST /v3/async/video-fast',
  'POST /v3/async/image-turbo',
  'GET /v3/async/task-result',
];

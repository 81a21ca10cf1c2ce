import { readFileSync } from 'node:fs';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import type { z } from 'zod';
import { consoleTypes } from '../../ops/console-types.ts';
import { describedRoutes, documentOf, routePathsModule } from '../../ops/openapi-routes.ts';
import { VERSION } from '../../src/lib/version.ts';
import { describedApi } from './support/described-operations.ts';
import { ADMIN_TOKEN, startTestServer, type TestServer } from './support/test-server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server?.close());

test('openapi.json describes the routes (npm run generate rewrites it)', () => {
  const committed = JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8'));
  expect(committed).toEqual(JSON.parse(JSON.stringify(documentOf())));
});

test('the allowed targets of alias paths are those of the routes (npm run generate writes them)', () => {
  const file = new URL('../../src/catalog/route-paths.gen.ts', import.meta.url);
  expect(readFileSync(file, 'utf8')).toBe(routePathsModule());
});

test('the types of the console are those of the API (npm run generate writes them)', () => {
  const file = new URL('../../console/api/types.gen.ts', import.meta.url);
  expect(readFileSync(file, 'utf8')).toBe(consoleTypes(documentOf()));
});

test('the mounted routes and the served description are the same', async () => {
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

/** Named so that generated clients have a type for them: no other rule covers the events of a stream and those sent to customers. */
const EVENT_SCHEMAS = [
  'ChatCompletionChunk',
  'MessageStreamEvent',
  'ResponseStreamEvent',
  'AsyncTaskResultEvent',
  'CreditsLowEvent',
  'KeyLimitNearEvent',
];

test('the document passes all recommended rules of the public linter and more, with none disabled', async () => {
  const config = await createConfig({
    extends: ['recommended-strict'],
    rules: {
      'no-invalid-media-type-examples': 'error',
      'no-invalid-schema-examples': 'error',
      'no-invalid-parameter-examples': 'error',
      'no-duplicated-tag-names': 'error',
      'no-http-verbs-in-paths': 'error',
      'operation-operationId-unique': 'error',
      'operation-singular-tag': 'error',
      'path-parameters-defined': 'error',
      'paths-kebab-case': 'error',
      'spec-strict-refs': 'error',
    },
  });
  const source = JSON.stringify(documentOf());
  const problems = await lintFromString({ source, absoluteRef: 'openapi.json', config });
  const found = problems
    // paths from Anthropic's and OpenAI's APIs that their clients call
    .filter(({ message }) => !/\/messages\/count_tokens|\/responses\/input_tokens/.test(message))
    .filter(({ message }) => !EVENT_SCHEMAS.some((name) => message.includes(`Component: "${name}"`)))
    .map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer]);
  expect(found).toEqual([]);
});

test('every field, parameter and header has a description', () => {
  const { found, count } = undescribed(documentOf());
  expect(found).toEqual([]);
  expect(count).toBeGreaterThan(1_000);
});

describe('examples', () => {
  const routes = describedRoutes();
  const { operations } = describedApi();

  test.each(operations.map((operation) => [operation.name, operation] as const))(
    '%s: the examples of request and response match their schemas',
    (name, { parameters, body, responses }) => {
      const route = routes.find(({ operationId }) => operationId === name);
      for (const parameter of parameters.filter(({ required }) => required)) {
        expect([parameter.name, typeof parameter.example]).toEqual([
          parameter.name,
          expect.stringMatching(/^(string|number)$/),
        ]);
      }
      for (const { example } of Object.values(body ?? {})) {
        expect(example).toBeDefined();
        const sent = route?.bodyFormat === 'raw' ? Buffer.from(String(example)) : example;
        expect(route?.body?.safeParse(sent).error?.issues ?? []).toEqual([]);
      }
      const success = Object.keys(responses).find((status) => /^[23]/.test(status)) ?? '';
      const answers = Object.entries(responses[success]?.content ?? {});
      for (const [type, { example }] of answers.filter(([type]) => /json|event-stream/.test(type))) {
        expect([type, example]).toEqual([type, expect.anything()]);
      }
      const json = responses[success]?.content?.['application/json'];
      if (json) {
        const { request_id: requestId } = json.example as Record<string, unknown>;
        expect(requestId === undefined).toBe(route?.envelope !== 'data');
        const strict = route?.response.schema.safeParse(json.example);
        expect(strict?.error?.issues.map((issue) => issue.message) ?? []).toEqual([]);
      }
    },
  );
});

describe('every operation', () => {
  const routes = describedRoutes();

  test('has a unique name, a summary and a success response', () => {
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
  )('GET %s rejects unknown query parameters', (_, route) => {
    const result = (route.query as z.ZodType).safeParse({ no_such_name: '1' });
    const unknown = result.error?.issues.some((issue) => issue.code === 'unrecognized_keys');
    expect(unknown).toBe(true);
  });

  test('of method POST documents its Idempotency-Key, except browser sign-in and task claims, which reject the header', () => {
    const refusing = routes.filter((route) => route.method === 'post' && route.idempotency === undefined);
    expect(refusing.map((route) => route.operationId)).toEqual(['createSession', 'moveSession', 'claimTask']);
  });

  test('of the public interface exists', () => {
    const have = new Set(routes.map((route) => `${route.method.toUpperCase()} ${route.path}`));
    for (const operation of INTERFACE) {
      expect(have).toContain(operation);
    }
  });
});

test('/docs/plain, and /docs without a built viewer, shows every operation and loads nothing', async () => {
  const { text, headers } = await server.call('GET', '/docs/plain');
  expect((await server.call('GET', '/docs')).text).toBe(text);
  expect((await server.call('GET', '/docs/viewer.js')).status).toBe(404);
  expect(headers.get('content-type')).toContain('text/html');
  for (const route of server.routes) {
    expect(text).toContain(`id="${route.operationId}"`);
  }
  expect(text).not.toMatch(/<script|<link|src=|@import|url\(/i);
});

test('health, readiness and metrics', async () => {
  expect((await server.call('GET', '/healthz')).json).toEqual({ status: 'ok', version: VERSION });
  expect((await server.call('GET', '/readyz')).json).toEqual({
    status: 'ready',
    checks: { database: true },
    optional: { redis: false },
  });
  const scraped = await server.call('GET', '/metrics');
  expect(scraped.status).toBe(200);
  const forwarded = { 'x-forwarded-for': '203.0.113.9' };
  expect((await server.call('GET', '/metrics', { headers: forwarded })).status).toBe(401);
  expect((await server.call('GET', '/metrics', { headers: forwarded, key: ADMIN_TOKEN })).status).toBe(200);
});

/** Returns where an object field, a parameter or a header lacks a description, and how many there are in total. */
function undescribed(document: object): { found: string[]; count: number } {
  const found: string[] = [];
  let count = 0;
  const judge = (place: string, described: object) => {
    count += 1;
    const { description, $ref: reference } = described as { description?: string; $ref?: string };
    const isShared = reference?.startsWith('#/components/headers/') === true;
    if (!isShared && (description?.length ?? 0) < 3) {
      found.push(place);
    }
  };
  const walk = (value: unknown, path: string) => {
    if (typeof value !== 'object' || value === null) {
      return;
    }
    for (const [name, member] of Object.entries(value)) {
      const isList = name === 'parameters' && Array.isArray(member);
      const isMap = name === 'headers' || name === 'properties';
      if (isList || isMap) {
        for (const [key, one] of Object.entries(member as object)) {
          judge(`${path}/${name}/${key}`, one);
        }
      }
      // an example may contain a schema of its own
      if (name !== 'example' && name !== 'examples') {
        walk(member, `${path}/${name}`);
      }
    }
  };
  walk(document, '');
  return { found, count };
}

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

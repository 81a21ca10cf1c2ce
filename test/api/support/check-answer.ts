import { answerHeaders } from '../../../src/http/openapi/openapi-headers.ts';
import type { Route } from '../../../src/http/route.ts';
import type { Answer } from './answer.types.ts';

/** Returns the route that a request reached, or undefined for none. */
export function routeOf(routes: readonly Route[], method: string, path: string): Route | undefined {
  const [bare = ''] = path.split('?', 1);
  const verb = method === 'HEAD' ? 'get' : method.toLowerCase();
  return routes.find((route) => route.method === verb && patternOf(route.path).test(bare));
}

/** Headers that mean something to clients: each must be described where it is sent. */
const MEANINGFUL = [
  'request-id',
  'x-generation-id',
  'x-ignored-parameters',
  'x-max-tokens-clamped',
  'idempotent-replayed',
  'preference-applied',
  'vendorx-version',
  'location',
  'link',
];

/** Described headers that every success has, unlike those that depend on the request. */
const UNCONDITIONAL = ['request-id', 'x-generation-id', 'vendorx-version'];

/** Checks every answer of every test against its route: the declared body and headers on success, the exact envelope otherwise. */
export function checkAnswer(route: Route | undefined, answer: Answer): void {
  expect(answer.headers.get('x-request-id')).toMatch(/^[\x21-\x7e]{1,128}$/);
  if (route && answer.status < 400) {
    expectDescribedHeaders(route, answer);
  }
  if (answer.json === undefined) {
    return;
  }
  if (answer.status < 400 && route) {
    const parsed = route.response.schema.safeParse(answer.json);
    expect(parsed.error?.issues ?? []).toEqual([]);
    expect(route.envelope !== 'data' || answer.json.request_id === answer.headers.get('x-request-id')).toBe(
      true,
    );
  }
  if (answer.status >= 400 && answer.json.status !== 'unready') {
    expectEnvelope(answer);
  }
}

function expectDescribedHeaders(route: Route, { headers }: Answer): void {
  const described = Object.keys(answerHeaders(route)).map((name) => name.toLowerCase());
  const sent = MEANINGFUL.filter((name) => headers.has(name));
  const owed = UNCONDITIONAL.filter((name) => described.includes(name));
  expect({ undescribed: sent.filter((name) => !described.includes(name)), route: route.path }).toEqual({
    undescribed: [],
    route: route.path,
  });
  expect({ missing: owed.filter((name) => !headers.has(name)), route: route.path }).toEqual({
    missing: [],
    route: route.path,
  });
}

export function expectEnvelope(answer: Answer): void {
  const { error, request_id: requestId, ...rest } = answer.json;
  expect(error).toEqual({
    code: expect.stringMatching(/^[a-z_]+$/),
    message: expect.any(String),
    type: expect.any(String),
  });
  expect(requestId).toBe(answer.headers.get('x-request-id'));
  expect(['', 'code,message,metadata,reason']).toContain(Object.keys(rest).sort().join());
}

function patternOf(path: string): RegExp {
  const source = path.replace(/\{\w+\+\}/g, '.+').replace(/\{\w+\}/g, '[^/]+');
  return new RegExp(`^${source}$`);
}

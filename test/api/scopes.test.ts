import { z } from 'zod';
import { describedRoutes } from '../../ops/openapi-routes.ts';
import { type Access, defineRoute, type Route } from '../../src/http/route.ts';
import { WorkerTokensService } from '../../src/remote-workers/worker-tokens.service.ts';
import { WorkerTokensStore } from '../../src/remote-workers/worker-tokens.store.ts';
import { createAccount } from '../factories/account.ts';
import { createKey } from '../factories/api-key.ts';
import { ADMIN_TOKEN, startTestServer, type TestServer } from './support/test-server.ts';

type Caller = 'nobody' | 'inference' | 'owner' | 'operator' | 'worker';

/** What each caller gets on a route of each access class. `in` means that access was granted, whatever follows. */
const MATRIX: Record<Access, Record<Caller, string>> = {
  public: { nobody: 'in', inference: 'in', owner: 'in', operator: 'in', worker: 'in' },
  inference: {
    nobody: '401 missing_api_key',
    inference: 'in',
    owner: 'in',
    operator: '401 invalid_api_key',
    worker: '401 invalid_api_key',
  },
  owner: {
    nobody: '401 missing_api_key',
    inference: '403 insufficient_scope',
    owner: 'in',
    operator: '401 invalid_api_key',
    worker: '401 invalid_api_key',
  },
  operator: {
    nobody: '401 missing_api_key',
    inference: '401 invalid_api_key',
    owner: '401 invalid_api_key',
    operator: 'in',
    worker: '401 invalid_api_key',
  },
  worker: {
    nobody: '401 missing_api_key',
    inference: '401 invalid_api_key',
    owner: '401 invalid_api_key',
    operator: '401 invalid_api_key',
    worker: 'in',
  },
};

/** The operations of each access class. The list is duplicated on purpose, so that no change is accidental. */
const OWNER_ONLY = [
  'createKey',
  'listKeys',
  'getKey',
  'updateKey',
  'deleteKey',
  'createCheckoutSession',
  'getCheckoutSession',
  'getCheckoutReceipt',
  'listBalanceTransactions',
  'getBalanceTransaction',
  'listInvoices',
  'getInvoice',
  'getWebhookSecret',
  'rotateWebhookSecret',
  'listWebhookDeliveries',
  'redeliverWebhook',
  'getAlerts',
  'changeAlerts',
  'listMembers',
  'changeMember',
  'removeMember',
  'invite',
  'listInvitations',
  'withdrawInvitation',
];
const PUBLIC = [
  'getMedia',
  'getCheckoutResult',
  'getPaymentPage',
  'payTestCheckout',
  'receiveStripeEvent',
  'getHealth',
  'getReadiness',
  'getMetrics',
  'getOpenApi',
  'getDocs',
  'getPlainDocs',
  'getDocsViewer',
  'createSession',
  'getSession',
];

const routes: Route[] = describedRoutes().map((route) => ({
  ...route,
  handle: async () => ({ status: 299, body: { data: 'in' } }),
}));

let server: TestServer;
let keys: Record<Caller, string | undefined>;

beforeAll(async () => {
  server = await startTestServer({ routes });
  const { id } = await createAccount(server.database);
  const tokens = new WorkerTokensService(new WorkerTokensStore(server.database.money), () => ['gpu']);
  const token = await tokens.create('rented', ['gpu'], { actor: 'operator', request_id: null });
  keys = {
    nobody: undefined,
    inference: (await createKey(server.database, id, { role: 'inference' })).secret,
    owner: (await createKey(server.database, id, { role: 'owner' })).secret,
    operator: ADMIN_TOKEN,
    worker: token.secret,
  };
});
afterAll(() => server?.close());

test('a route without an access class does not compile', () => {
  const everythingElse = {
    method: 'get',
    path: '/nobody/thought/about/it',
    operationId: 'forgotten',
    summary: 'A route that says nothing about who may call it',
    tag: 'Service',
    envelope: 'bare',
    response: { status: 200, schema: z.object({}) },
    errors: [],
    handle: async () => ({ body: {} }),
  } as const;
  // @ts-expect-error: the access class is missing; the build fails here as soon as that is no longer an error
  expect(defineRoute(everythingElse)).not.toHaveProperty('access');
});

test('the access classes are the intended ones', () => {
  const classOf = (route: Route): Access => {
    if (route.path.startsWith('/admin/')) {
      return 'operator';
    }
    if (route.path.startsWith('/worker/')) {
      return 'worker';
    }
    if (OWNER_ONLY.includes(route.operationId)) {
      return 'owner';
    }
    return PUBLIC.includes(route.operationId) ? 'public' : 'inference';
  };
  expect(routes.map((route) => [route.operationId, route.access])).toEqual(
    routes.map((route) => [route.operationId, classOf(route)]),
  );
});

describe.each(routes.map((route) => [route.operationId, route] as const))('%s', (_, route) => {
  test.each(['nobody', 'inference', 'owner', 'operator', 'worker'] as const)('%s', async (caller) => {
    const headers: Record<string, string> = keys[caller] ? { authorization: `Bearer ${keys[caller]}` } : {};
    const path = route.path.replace(/\{\w+\+?\}/g, 'x');
    const response = await fetch(server.url + path, { method: route.method.toUpperCase(), headers });
    const body = (await response.json()) as { error?: { code: string } };
    const isRefused = response.status === 401 || response.status === 403;
    expect(isRefused ? `${response.status} ${body.error?.code}` : 'in').toBe(MATRIX[route.access][caller]);
    // access is denied before anything of the request is looked at
    if (!isRefused && !route.body && !route.query) {
      expect(response.status).toBe(299);
    }
  });
});

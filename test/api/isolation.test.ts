import { transactionId } from '../../src/billing/transaction-id.ts';
import { newUuid, publicId } from '../../src/lib/ids.ts';
import { createAccount } from '../factories/account.ts';
import { createKey, type TestKey } from '../factories/api-key.ts';
import { createGeneration } from '../factories/generation.ts';
import { startTestServer, type TestServer } from './support/test-server.ts';

interface Tenant {
  readonly owner: TestKey;
  /** By the name of the parameter that takes it. */
  readonly ids: Readonly<Record<string, string>>;
}

let server: TestServer;
let ours: Tenant;
let theirs: Tenant;

/** Ids of the right form that nobody has. */
const UNKNOWN: Record<string, string> = {
  hash: 'f'.repeat(64),
  id: publicId('generation', newUuid()),
  session_id: publicId('checkoutSession', newUuid()),
  transaction_id: transactionId({ type: 'usage_charge', reference: newUuid() }),
  invoice_id: publicId('invoice', newUuid()),
  api_key_hash: 'f'.repeat(64),
};

/** Parameters that name nothing of an account. */
const NO_OBJECTS = [
  'model',
  'limit',
  'cursor',
  'category',
  'endpoint',
  'q',
  'start_time',
  'end_time',
  'granularity',
  'group_by',
  'type',
  'status',
  'period_start',
  'period_end',
];

beforeAll(async () => {
  server = await startTestServer();
  ours = await createTenant();
  theirs = await createTenant();
});
afterAll(() => server.close());

async function createTenant(): Promise<Tenant> {
  const { id } = await createAccount(server.database);
  const owner = await createKey(server.database, id);
  const generation = await createGeneration(server.database, {
    accountId: id,
    apiKeyId: owner.id,
    charge: '0.10',
  });
  const body = { amount: '5.00', currency: 'USD' };
  const session = await server.call('POST', '/api/v1/billing/checkout/sessions', { key: owner.secret, body });
  const invoices = await server.call('GET', '/api/v1/billing/invoices', { key: owner.secret });
  return {
    owner,
    ids: {
      hash: owner.hash,
      api_key_hash: owner.hash,
      id: publicId('generation', generation),
      session_id: session.json.data.id,
      transaction_id: transactionId({ type: 'usage_charge', reference: generation }),
      invoice_id: invoices.json.data[0].id,
    },
  };
}

interface Use {
  readonly operation: string;
  readonly method: string;
  readonly path: string;
  readonly parameter: string;
  readonly place: 'path' | 'query';
  readonly hasBody: boolean;
}

/** Every parameter of every operation for customers, out of the description itself. */
async function uses(): Promise<Use[]> {
  const { paths } = (await server.call('GET', '/openapi.json')).json;
  const found: Use[] = [];
  for (const [path, operations] of Object.entries<
    Record<string, { operationId: string; requestBody?: object; parameters: { name: string; in: string }[] }>
  >(paths)) {
    for (const [method, { operationId: operation, parameters, requestBody }] of Object.entries(operations)) {
      for (const { name: parameter, in: place } of parameters) {
        if (path.startsWith('/api/') && place !== 'header') {
          found.push({
            operation,
            method: method.toUpperCase(),
            path,
            parameter,
            place: place as Use['place'],
            hasBody: requestBody !== undefined,
          });
        }
      }
    }
  }
  return found;
}

/** The whole answer to a request that differs in the id alone; the request id is the same, so that all of it can be compared. */
async function ask(
  use: Use,
  tenant: Tenant,
  value: string,
): Promise<{ status: number; headers: string; text: string }> {
  const path =
    use.place === 'path'
      ? use.path.replace(`{${use.parameter}}`, value)
      : `${use.path}?${use.parameter}=${value}`;
  const answer = await server.call(use.method, path, {
    key: tenant.owner.secret,
    headers: { 'x-request-id': 'the-same' },
    ...(use.hasBody && { body: { name: 'x' } }),
  });
  const headers = [...answer.headers].filter(([name]) => !/^(date|x-ratelimit-.*)$/.test(name));
  return { status: answer.status, headers: JSON.stringify(headers), text: answer.text };
}

test('every parameter that takes an id is covered', async () => {
  for (const { parameter, operation } of await uses()) {
    expect([operation, [...Object.keys(UNKNOWN), ...NO_OBJECTS].includes(parameter)]).toEqual([
      operation,
      true,
    ]);
  }
});

test('the id of another account answers byte for byte as an unknown one does, everywhere', async () => {
  const found = (await uses()).filter(({ parameter }) => UNKNOWN[parameter]);
  expect(found.length).toBeGreaterThanOrEqual(11);
  for (const use of found) {
    const foreign = await ask(use, ours, theirs.ids[use.parameter] ?? '');
    const unknown = await ask(use, ours, UNKNOWN[use.parameter] ?? '');
    expect([use.operation, foreign]).toEqual([use.operation, unknown]);
    expect([use.operation, foreign.status]).toEqual([
      use.operation,
      use.parameter === 'api_key_hash' ? 200 : 404,
    ]);
  }
});

test('the same ids work for their owner', async () => {
  for (const use of (await uses()).filter(
    ({ parameter, method }) => UNKNOWN[parameter] && method === 'GET',
  )) {
    expect([use.operation, (await ask(use, theirs, theirs.ids[use.parameter] ?? '')).status]).toEqual([
      use.operation,
      200,
    ]);
  }
});

describe('no list shows anything of another account', () => {
  test.each([
    'keys',
    'usage',
    'activity',
    'costs?group_by=api_key',
    'billing/balance-transactions',
    'billing/invoices',
  ])('%s', async (path) => {
    const mine = await server.call('GET', `/api/v1/${path}`, { key: ours.owner.secret });
    expect(mine.json.data.length).toBeGreaterThan(0);
    for (const id of Object.values(theirs.ids)) {
      expect(mine.text).not.toContain(id);
    }
  });
});

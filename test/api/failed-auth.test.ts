import { newSecret } from '../../src/keys/secret.ts';
import { newUuid } from '../../src/lib/ids.ts';
import { createAccount } from '../factories/account.ts';
import { createKey, type TestKey } from '../factories/api-key.ts';
import { ADMIN_TOKEN, startTestServer, type TestServer } from './support/test-server.ts';

let server: TestServer;
let known: TestKey;
/** Number of requests that marked their connection as authenticated. */
let proven = 0;

beforeAll(async () => {
  server = await startTestServer({
    failuresPerMinute: 20,
    onAuthenticatedConnection: () => {
      proven += 1;
    },
  });
  known = await createKey(server.database, (await createAccount(server.database)).id);
});
afterAll(() => server?.close());

const get = (key: string) => server.call('GET', '/api/v1/key', { key });

test('throttles an address that sends malformed keys without locking out valid keys from it', async () => {
  const statuses: number[] = [];
  for (let index = 0; index < 25; index += 1) {
    statuses.push((await get('sk-tg-v1-mistyped')).status);
  }
  expect(statuses.slice(0, 20)).toEqual(Array(20).fill(401));
  const refused = await get('sk-tg-v1-mistyped');
  expect([refused.status, refused.json.error.code]).toEqual([429, 'rate_limit_exceeded']);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  const fresh = await createKey(server.database, (await createAccount(server.database)).id);
  expect([(await get(known.secret)).status, (await get(fresh.secret)).status]).toEqual([200, 200]);
  const operator = await server.call('GET', '/admin/v1/accounts', { key: ADMIN_TOKEN });
  expect(operator.status).toBe(200);
});

test('always looks up a well-formed key and returns 401 when it does not exist', async () => {
  const statuses = await Promise.all(
    Array.from({ length: 200 }, async () => (await get(newSecret(newUuid()))).status),
  );
  expect(new Set(statuses)).toEqual(new Set([401]));
});

test('marks a connection as known only after a valid key or token was sent on it', async () => {
  proven = 0;
  await get(newSecret(newUuid()));
  await server.call('GET', '/api/v1/key');
  await server.call('GET', '/admin/v1/accounts', { key: known.secret });
  await server.call('GET', '/healthz');
  expect(proven).toBe(0);
  await get(known.secret);
  await server.call('GET', '/admin/v1/accounts', { key: ADMIN_TOKEN });
  expect(proven).toBe(2);
});

import { createAccount } from '../factories/account.ts';
import { createKey } from '../factories/api-key.ts';
import { atTime } from '../factories/history.ts';
import { startTestServer, type TestServer } from './support/test-server.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server?.close());

test('/v3/user returns the balance in 1/10000 USD, rounded down', async () => {
  const account = await createAccount(server.database, { credits: '12.34567' });
  const key = await createKey(server.database, account.id, { role: 'inference' });
  const { status, json } = await server.call('GET', '/v3/user', { key: key.secret });
  expect([status, json]).toEqual([200, { allow_features: [], credit_balance: 123_456, free_trial: {} }]);
});

test.each(['/v3/user', '/v3/model', '/v3/async/txt2img'])("errors of %s have Novita's form", async (path) => {
  const { json } = await server.call('GET', path);
  expect(json).toMatchObject({ code: expect.any(Number), reason: expect.any(String), metadata: {} });
});

test("tells clients not to retry a wrong key, and uses OpenAI's error form under Novita's chat base", async () => {
  const { headers, json } = await server.call('GET', '/v3/openai/nothing');
  expect(headers.get('x-should-retry')).toBe('false');
  expect(Object.keys(json)).toEqual(['error', 'request_id']);
});

test('closing a month does not change when the balance last changed', async () => {
  const { test: own, database } = server;
  const account = await atTime(own.url, database, '-40 days', (then) => createAccount(then));
  const { secret: key } = await createKey(database, account.id, { role: 'owner' });
  await database.money.query('SELECT close_months($1)', [account.id]);
  const { data: credits } = (await server.call('GET', '/api/v1/credits', { key })).json;
  const { data: entries } = (await server.call('GET', '/api/v1/billing/balance-transactions', { key })).json;
  expect(credits.updated_at).toBe(entries[0].created_at);
});

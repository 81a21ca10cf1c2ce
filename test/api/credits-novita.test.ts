import { createAccount } from '../factories/account.ts';
import { createKey } from '../factories/api-key.ts';
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

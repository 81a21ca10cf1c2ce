import { createAccount } from '../factories/account.ts';
import { createKey, type TestKey } from '../factories/api-key.ts';
import { ADMIN_TOKEN, startTestServer, type TestServer } from './support/test-server.ts';

let server: TestServer;
let owner: TestKey;
beforeAll(async () => {
  server = await startTestServer();
  owner = await createKey(server.database, (await createAccount(server.database)).id);
});
afterAll(() => server?.close());

/** Postgres stores neither NUL nor lone surrogates. Text it cannot store must be rejected, not cause a failure. */
test.each<[string, string, object | null]>([
  ['POST', '/api/v1/keys', { name: 'a\0b' }],
  ['POST', '/api/v1/keys', { name: 'a\ud800' }],
  ['POST', '/api/v1/keys', { name: 'x', label: '\0' }],
  ['PATCH', '/api/v1/keys/HASH', { label: '\udfff' }],
  ['GET', '/api/v1/keys/%00', null],
  ['GET', '/api/v1/models/%00', null],
  ['GET', '/api/v1/usage?model=%00', null],
  ['GET', '/api/v1/usage?api_key_hash=%00', null],
  ['GET', '/api/v1/generation?id=%00', null],
  ['GET', '/api/v1/models?q=%00', null],
  ['GET', '/api/v1/billing/balance-transactions?api_key_hash=%00', null],
  ['POST', '/admin/v1/accounts', { name: '\0' }],
  ['POST', '/admin/v1/accounts', { name: '\ud800' }],
])('%s %s %j is answered without a 5xx', async (method, path, body) => {
  const key = path.startsWith('/admin') ? ADMIN_TOKEN : owner.secret;
  const answer = await server.call(method, path.replace('HASH', owner.hash), { key, ...(body && { body }) });
  expect(answer.status).toBeLessThan(500);
  expect([200, 400, 404]).toContain(answer.status);
});

test('keeps text of every script unchanged', async () => {
  const name = 'Ключ 鍵 🔑 \u202e';
  const created = await server.call('POST', '/api/v1/keys', { key: owner.secret, body: { name } });
  expect(created.json.data.name).toBe(name.trim());
});

test('quotes what it rejects in whole characters', async () => {
  const name = `${'a'.repeat(99)}${encodeURIComponent('😀')}`;
  const answer = await server.call('GET', `/api/v1/models?${name}=1`, { key: owner.secret });
  const { message } = answer.json.error;
  expect(message).toContain('aaa');
  expect(Buffer.from(message).toString()).toBe(message);
});

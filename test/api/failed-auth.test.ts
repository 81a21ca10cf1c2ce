import { newSecret } from '../../src/keys/secret.ts';
import { createAccount } from '../factories/account.ts';
import { createKey, type TestKey } from '../factories/api-key.ts';
import { startTestServer, type TestServer } from './support/test-server.ts';

let server: TestServer;
let known: TestKey;

beforeAll(async () => {
  server = await startTestServer({ failuresPerMinute: 20 });
  known = await createKey(server.database, (await createAccount(server.database)).id);
});
afterAll(() => server?.close());

test('an address that fails too often waits; a key that worked before is not shut out by it', async () => {
  expect((await server.call('GET', '/api/v1/key', { key: known.secret })).status).toBe(200);
  const statuses: number[] = [];
  for (let index = 0; index < 25; index += 1) {
    statuses.push((await server.call('GET', '/api/v1/key', { key: newSecret() })).status);
  }
  expect(statuses.slice(0, 20)).toEqual(Array(20).fill(401));
  expect(statuses.at(-1)).toBe(429);
  const refused = await server.call('GET', '/api/v1/key', { key: newSecret() });
  expect(refused.json.error.code).toBe('rate_limit_exceeded');
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  expect((await server.call('GET', '/api/v1/key', { key: known.secret })).status).toBe(200);
});

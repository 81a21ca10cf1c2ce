import { createAccount } from '../factories/account.ts';
import { createKey, type TestKey } from '../factories/api-key.ts';
import { startTestServer, type TestServer } from './support/test-server.ts';

const APP = 'https://app.example.com';
let server: TestServer;
let key: TestKey;

beforeAll(async () => {
  server = await startTestServer({ corsOrigins: [APP] });
  key = await createKey(server.database, (await createAccount(server.database)).id);
});
afterAll(() => server?.close());

const ask = (method: string, origin: string, headers: Record<string, string> = {}) =>
  fetch(`${server.url}/api/v1/credits`, { method, headers: { origin, ...headers } });

test('a preflight request from an allowed origin lists what may be sent', async () => {
  const asked = { 'access-control-request-method': 'GET', 'access-control-request-headers': 'authorization' };
  const { status, headers } = await ask('OPTIONS', APP, asked);
  expect(status).toBe(204);
  expect(headers.get('access-control-allow-origin')).toBe(APP);
  expect(headers.get('access-control-allow-headers')).toBe('authorization');
  expect(headers.get('access-control-allow-credentials')).toBeNull();
});

test('successes and errors are readable, with the headers that matter', async () => {
  const answered = await ask('GET', APP, { authorization: `Bearer ${key.secret}` });
  const refused = await ask('GET', APP);
  expect([answered.status, refused.status]).toEqual([200, 401]);
  for (const { headers } of [answered, refused]) {
    expect(headers.get('access-control-allow-origin')).toBe(APP);
    expect(headers.get('access-control-expose-headers')).toContain('X-Generation-Id');
    expect(headers.get('vary')).toContain('Origin');
  }
});

test('another origin gets no CORS headers', async () => {
  const { headers } = await ask('OPTIONS', 'https://evil.example');
  expect(headers.get('access-control-allow-origin')).not.toBe('https://evil.example');
});

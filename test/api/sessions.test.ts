import { newUuid, publicId } from '../../src/lib/ids.ts';
import { createAccount } from '../factories/account.ts';
import { createKey } from '../factories/api-key.ts';
import { eventually } from '../factories/eventually.ts';
import type { Answer } from './support/answer.types.ts';
import { startTestServer, type TestServer } from './support/test-server.ts';

/** Browsers sign in with a key and then send a cookie. */

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({
    limits: { requestsPerMinute: 40, tokensPerMinute: 1e9, concurrency: 100 },
  });
});
afterAll(() => server?.close());

interface SignedIn {
  readonly cookie: string;
  readonly csrf: string;
  readonly answer: Answer;
  call(
    method: string,
    path: string,
    options?: { body?: unknown; headers?: Record<string, string> },
  ): Promise<Answer>;
}

async function signIn(secret: string): Promise<SignedIn> {
  const answer = await server.call('POST', '/api/v1/sessions', { body: { api_key: secret } });
  expect(answer.status).toBe(201);
  const cookie = answer.headers.getSetCookie()[0]!.split(';', 1)[0]!;
  const csrf: string = answer.json.data.csrf;
  return {
    cookie,
    csrf,
    answer,
    call: (method, path, { body, headers } = {}) =>
      server.call(method, path, {
        ...(body !== undefined && { body }),
        headers: { cookie, ...(method !== 'GET' && { 'x-csrf-token': csrf }), ...headers },
      }),
  };
}

async function account(role: 'owner' | 'inference' = 'owner') {
  const { id } = await createAccount(server.database);
  const key = await createKey(server.database, id, { role });
  return { id, key, browser: await signIn(key.secret) };
}

const codeOf = ({ json }: Answer): string | undefined => json?.error?.code;

test('exchanges a key for a cookie that scripts cannot read and that no response body contains', async () => {
  const { key, browser } = await account();
  const [header = ''] = browser.answer.headers.getSetCookie();
  expect(header).toMatch(/^tollgate=[\w-]{43}; Path=\/; Max-Age=4\d{4}; HttpOnly; SameSite=Strict$/);
  expect(browser.answer.text).not.toContain(key.secret);
  const current = await browser.call('GET', '/api/v1/session');
  expect(current.json.data).toMatchObject({ csrf: browser.csrf, key: { hash: key.hash, role: 'owner' } });
  expect(current.text + header).not.toContain(key.secret);
  const rows = await server.database.money.query('SELECT * FROM console_sessions');
  expect(JSON.stringify(rows.rows)).not.toContain(browser.cookie.split('=')[1]);
});

test('being signed out is a normal answer, a wrong key is an error', async () => {
  expect((await server.call('GET', '/api/v1/session')).json.data).toBeNull();
  expect(
    (await server.call('GET', '/api/v1/session', { headers: { cookie: 'tollgate=x' } })).json.data,
  ).toBeNull();
  const wrong = await server.call('POST', '/api/v1/sessions', { body: { api_key: 'sk-tg-v1-nothing' } });
  expect([wrong.status, codeOf(wrong)]).toEqual([401, 'invalid_api_key']);
  expect(wrong.headers.getSetCookie()).toEqual([]);
});

test('the session has the role of its key', async () => {
  const { browser } = await account('inference');
  expect((await browser.call('GET', '/api/v1/credits')).status).toBe(200);
  expect(codeOf(await browser.call('GET', '/api/v1/keys'))).toBe('insufficient_scope');
});

test('every route that changes something rejects a cookie without its proof, and requests from another site', async () => {
  const { browser } = await account();
  const { cookie, csrf } = browser;
  const unsafe = server.routes.filter(
    ({ method, access }) => method !== 'get' && (access === 'inference' || access === 'owner'),
  );
  expect(unsafe.length).toBeGreaterThan(5);
  for (const { method, path } of unsafe) {
    const url = path.replace(/\{\w+\+?\}/g, 'x');
    const tries: Record<string, string>[] = [
      { cookie },
      { cookie, 'x-csrf-token': 'wrong' },
      { cookie, 'x-csrf-token': csrf, 'sec-fetch-site': 'cross-site' },
    ];
    for (const headers of tries) {
      const answer = await server.call(method.toUpperCase(), url, { headers, body: {} });
      expect([path, answer.status, codeOf(answer)]).toEqual([path, 403, 'csrf_rejected']);
    }
  }
  const foreign = await browser.call('GET', '/api/v1/credits', {
    headers: { 'sec-fetch-site': 'same-site' },
  });
  expect(codeOf(foreign)).toBe('csrf_rejected');
});

test('a key in the request takes precedence over the cookie next to it', async () => {
  const { browser } = await account();
  const other = await account('inference');
  const answer = await server.call('GET', '/api/v1/key', {
    headers: { cookie: browser.cookie },
    key: other.key.secret,
  });
  expect(answer.json.data.hash).toBe(other.key.hash);
});

test('rejects the cookie within a second after signing out, here or elsewhere, or disabling the key', async () => {
  const { id, key, browser } = await account();
  const second = await signIn(key.secret);
  expect((await browser.call('DELETE', '/api/v1/session')).json.data).toEqual({ ended: 1 });
  expect(codeOf(await browser.call('GET', '/api/v1/credits'))).toBe('missing_api_key');
  // as another replica would do it
  await server.database.money.query('DELETE FROM console_sessions WHERE account_id = $1', [id]);
  const refused = async () => (await second.call('GET', '/api/v1/credits')).status === 401;
  await eventually(refused, 1_000, 'the end of the session');
  const third = await signIn(key.secret);
  const helper = await signIn((await createKey(server.database, id)).secret);
  await helper.call('PATCH', `/api/v1/keys/${key.hash}`, { body: { disabled: true } });
  expect(codeOf(await third.call('GET', '/api/v1/credits'))).toBe('key_disabled');
});

test('lists the browsers of the account, which another account cannot end; signing out everywhere ends all', async () => {
  const { id, key, browser } = await account();
  const inference = await signIn((await createKey(server.database, id, { role: 'inference' })).secret);
  await signIn(key.secret);
  const listed = (await browser.call('GET', '/api/v1/sessions')).json.data;
  expect(listed).toHaveLength(3);
  expect(listed.filter(({ current }: { current: boolean }) => current)).toHaveLength(1);
  expect((await inference.call('GET', '/api/v1/sessions')).json.data).toHaveLength(1);
  const stranger = await account();
  const ended = await stranger.browser.call('DELETE', `/api/v1/sessions/${listed[0].id}`);
  expect([ended.status, codeOf(ended)]).toEqual([404, 'session_not_found']);
  const unknown = publicId('browserSession', newUuid());
  expect((await browser.call('DELETE', `/api/v1/sessions/${unknown}`)).status).toBe(404);
  expect((await inference.call('DELETE', '/api/v1/sessions')).json.data).toEqual({ ended: 1 });
  expect((await browser.call('DELETE', '/api/v1/sessions')).json.data).toEqual({ ended: 2 });
  expect(codeOf(await browser.call('GET', '/api/v1/credits'))).toBe('missing_api_key');
});

test('an old sign-in can read and call, but can neither create nor destroy a key', async () => {
  const { id, browser } = await account();
  const sql = `UPDATE console_sessions SET created_at = created_at - interval '16 min' WHERE account_id = $1`;
  await server.database.money.query(sql, [id]);
  const make = () => browser.call('POST', '/api/v1/keys', { body: { name: 'new' } });
  await eventually(async () => codeOf(await make()) === 'login_too_old', 1_500, 'the age of the sign-in');
  expect((await browser.call('GET', '/api/v1/keys')).status).toBe(200);
});

test('a session ends after two idle hours', async () => {
  const { id, browser } = await account();
  const sql = `UPDATE console_sessions SET seen_at = seen_at - interval '121 min' WHERE account_id = $1`;
  await server.database.money.query(sql, [id]);
  const refused = async () => (await browser.call('GET', '/api/v1/session')).json.data === null;
  await eventually(refused, 1_500, 'the end of an idle session');
});

test('reads by a session do not count against the rate limit of the key', async () => {
  const { key, browser } = await account();
  const statuses = await Promise.all(
    Array.from({ length: 45 }, () => browser.call('GET', '/api/v1/credits')),
  );
  expect(statuses.some(({ status }) => status === 429)).toBe(true);
  const answer = await server.call('GET', '/api/v1/credits', { key: key.secret });
  expect(answer.headers.get('x-ratelimit-remaining-requests')).toBe('39');
});

test('signing in again and again gives neither more reads nor more sessions', async () => {
  const { id, key, browser } = await account('inference');
  const browsers = [browser];
  for (let count = 0; count < 13; count += 1) {
    browsers.push(await signIn(key.secret));
  }
  const statuses = await Promise.all(
    browsers.flatMap(({ cookie }) =>
      Array.from({ length: 40 }, async () => {
        const { status } = await fetch(`${server.url}/api/v1/credits`, { headers: { cookie } });
        return status;
      }),
    ),
  );
  const served = statuses.filter((status) => status === 200).length;
  expect([served >= 400, served < 520]).toEqual([true, true]);
  await server.database.money.query(
    `INSERT INTO console_sessions (id, token_hash, account_id, api_key_id, ends_at)
     SELECT gen_random_uuid(), encode(sha256(n::text::bytea), 'hex'), $1, $2, now() + interval '1 hour' FROM generate_series(1, 90) n`,
    [id, key.id],
  );
  await signIn(key.secret);
  const { rows } = await server.database.money.query(
    'SELECT count(*)::int AS kept FROM console_sessions WHERE api_key_id = $1',
    [key.id],
  );
  expect(rows).toEqual([{ kept: 100 }]);
});

test('the account shows what is held and what is left', async () => {
  const { browser } = await account();
  const { data } = (await browser.call('GET', '/api/v1/account')).json;
  expect(data).toMatchObject({
    remaining_credits: '10.00',
    held: '0.00',
    available: '10.00',
    running_calls: 0,
    features: { payments: 'test' },
  });
});

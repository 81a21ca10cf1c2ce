import { newSecret } from '../../src/keys/secret.ts';
import { newUuid } from '../../src/lib/ids.ts';
import { createAccount } from '../factories/account.ts';
import { createKey, type TestKey } from '../factories/api-key.ts';
import { startTestServer, type TestServer } from './support/test-server.ts';

let server: TestServer;
let accountId: string;
let owner: TestKey;

beforeAll(async () => {
  server = await startTestServer();
  accountId = (await createAccount(server.database)).id;
  owner = await createKey(server.database, accountId, { role: 'owner' });
});
afterAll(() => server?.close());

describe('POST /api/v1/keys', () => {
  test('returns 201 with the secret, shown only once, and every field of the key', async () => {
    const answer = await server.call('POST', '/api/v1/keys', {
      key: owner.secret,
      body: { name: 'ci', limit: 2.5 },
    });
    expect(answer.status).toBe(201);
    const { data, key, request_id: requestId, ...rest } = answer.json;
    expect(rest).toEqual({});
    expect(requestId).toBe(answer.headers.get('x-request-id'));
    expect(key).toMatch(/^sk-tg-v1-[0-9A-Za-z]{49}$/);
    expect(data).toEqual({
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      name: 'ci',
      account_id: expect.stringMatching(/^acc_/),
      disabled: false,
      usage: 0,
      created_at: expect.stringMatching(/Z$/),
      label: `${key.slice(0, 12)}...${key.slice(-4)}`,
      limit: 2.5,
      limit_remaining: 2.5,
      limit_reset: null,
      last_used_at: null,
      expires_at: null,
      rate_limits: null,
      role: 'inference',
      models: null,
    });
    const read = await server.call('GET', `/api/v1/keys/${data.hash}`, { key: owner.secret });
    expect(read.json.data).toEqual(data);
    expect(read.text).not.toContain(key);
    expect((await server.call('GET', '/api/v1/key', { key })).json.data.hash).toBe(data.hash);
  });

  test('can create a disabled key and reports unknown fields, in a replay, too', async () => {
    const body = { name: 'later', disabled: true, limt: 5, include_byok_in_limit: false };
    const headers = { 'idempotency-key': 'told-once' };
    for (const replayed of [null, 'true']) {
      const { json, headers: told } = await server.call('POST', '/api/v1/keys', {
        key: owner.secret,
        body,
        headers,
      });
      expect(json.data).toMatchObject({ name: 'later', disabled: true, limit: null });
      expect([told.get('x-ignored-parameters'), told.get('idempotent-replayed')]).toEqual([
        'limt, include_byok_in_limit',
        replayed,
      ]);
    }
  });

  test('accepts an expiry in Unix seconds and treats a null label as absent', async () => {
    const seconds = Math.floor(Date.now() / 1_000) + 3_600;
    const body = { name: 'short', expires_at: seconds, label: null };
    const { json } = await server.call('POST', '/api/v1/keys', { key: owner.secret, body });
    expect(json.data.expires_at).toBe(new Date(seconds * 1_000).toISOString());
    expect(json.data.label).toMatch(/^sk-tg-v1/);
  });

  test('sets, shows and removes a limit that resets periodically', async () => {
    const body = { name: 'team', limit: 5, limit_reset: 'monthly' };
    const made = await server.call('POST', '/api/v1/keys', { key: owner.secret, body });
    expect(made.json.data).toMatchObject({ limit: 5, limit_remaining: 5, limit_reset: 'monthly' });
    const path = `/api/v1/keys/${made.json.data.hash}`;
    const change = async (limitReset: unknown) => {
      const { status, json } = await server.call('PATCH', path, {
        key: owner.secret,
        body: { limit_reset: limitReset },
      });
      return [status, json.data?.limit_reset ?? json.error?.message];
    };
    expect(await change('weekly')).toEqual([200, 'weekly']);
    expect(await change('hourly')).toEqual([400, 'limit_reset: must be "daily", "weekly" or "monthly"']);
    expect(await change(null)).toEqual([200, undefined]);
    const read = await server.call('GET', path, { key: owner.secret });
    expect(read.json.data).toMatchObject({ limit: 5, limit_remaining: 5, limit_reset: null });
  });

  test('a key restricted to some models sees and calls no others; the list can be changed and removed', async () => {
    const body = { name: 'some', models: ['acme/small'] };
    const { json } = await server.call('POST', '/api/v1/keys', { key: owner.secret, body });
    expect(json.data.models).toEqual(['acme/small']);
    const path = `/api/v1/keys/${json.data.hash}`;
    const seen = async () => {
      const answer = await server.call('GET', '/api/v1/models', { key: json.key });
      return answer.json.data.map(({ id }: { id: string }) => id);
    };
    expect(await seen()).toEqual(['acme/small']);
    const change = (models: string[] | null) =>
      server.call('PATCH', path, { key: owner.secret, body: { models } });
    expect((await change(['acme/large'])).json.data.models).toEqual(['acme/large']);
    expect(await seen()).toEqual(['acme/large']);
    expect((await change(null)).json.data.models).toBeNull();
    expect((await seen()).length).toBeGreaterThan(1);
    expect((await change([])).status).toBe(400);
  });

  test('rejects an unknown model with a suggestion, at creation and at update', async () => {
    const models = ['acme/large', 'acme/smal'];
    const message = 'models[1]: there is no model "acme/smal". Did you mean "acme/small"?';
    const created = await server.call('POST', '/api/v1/keys', {
      key: owner.secret,
      body: { name: 'x', models },
    });
    expect([created.status, created.json.error.message]).toEqual([400, message]);
    const { hash } = await createKey(server.database, accountId, { allowedModels: ['acme/small'] });
    const path = `/api/v1/keys/${hash}`;
    const changed = await server.call('PATCH', path, { key: owner.secret, body: { models } });
    expect([changed.status, changed.json.error.message]).toEqual([400, message]);
    expect((await server.call('GET', path, { key: owner.secret })).json.data.models).toEqual(['acme/small']);
  });

  test.each([
    [{}, 'name'],
    [{ name: '' }, 'name'],
    [{ name: 5 }, 'name'],
    [{ name: 'x', limit: -1 }, 'limit'],
    [{ name: 'x', limit: 1e-10 }, 'limit'],
    [{ name: 'x', limit: '5' }, 'limit'],
    [{ name: 'x', expires_at: 'tomorrow' }, 'expires_at'],
    [{ name: 'x', expires_at: '2001-01-01T00:00:00Z' }, 'expires_at'],
    [{ name: 'x', role: 'admin' }, 'role'],
  ])('returns 400 and names the invalid field of %j', async (body, field) => {
    const answer = await server.call('POST', '/api/v1/keys', { key: owner.secret, body });
    expect(answer.status).toBe(400);
    expect(answer.json.error.code).toBe('invalid_parameter');
    expect(answer.json.error.message).toMatch(new RegExp(`^${field}: `));
  });

  test('ignores fields that only the service may set', async () => {
    const body = {
      name: 'mass',
      usage: 99,
      account_id: 'acc_x',
      hash: 'f'.repeat(64),
      spent: 1,
    };
    const { data } = (await server.call('POST', '/api/v1/keys', { key: owner.secret, body })).json;
    expect(data).toMatchObject({ usage: 0, name: 'mass' });
    expect(data.hash).not.toBe(body.hash);
  });
});

describe('PATCH /api/v1/keys/{hash}', () => {
  test('disabling and enabling take effect within a second', async () => {
    const key = await createKey(server.database, accountId, { role: 'inference' });
    expect((await server.call('GET', '/api/v1/key', { key: key.secret })).status).toBe(200);
    const patched = await patch(key.hash, { disabled: true });
    expect(patched.json.data.disabled).toBe(true);
    const refused = await server.call('GET', '/api/v1/key', { key: key.secret });
    expect([refused.status, refused.json.error.code]).toEqual([401, 'key_disabled']);
    await patch(key.hash, { disabled: false });
    expect((await server.call('GET', '/api/v1/key', { key: key.secret })).status).toBe(200);
  });

  test('an absent field is not null: patching one field keeps the others', async () => {
    const key = await createKey(server.database, accountId, { limitNano: '5000000000', name: 'before' });
    expect((await patch(key.hash, { label: 'new' })).json.data).toMatchObject({
      name: 'before',
      limit: 5,
      label: 'new',
    });
    expect((await patch(key.hash, { limit: null })).json.data).toMatchObject({
      limit: null,
      limit_remaining: null,
    });
    expect((await patch(key.hash, { limit: 0.25, name: 'after' })).json.data).toMatchObject({
      limit: 0.25,
      name: 'after',
    });
  });

  test('usage, account and hash cannot be set', async () => {
    const key = await createKey(server.database, accountId);
    const { data } = (
      await patch(key.hash, { usage: 50, account_id: 'acc_x', hash: 'x', spent: 7, role: 'owner' })
    ).json;
    expect(data).toMatchObject({ usage: 0, hash: key.hash });
  });

  test('returns 409 key_in_use when a key disables or deletes itself', async () => {
    const disabled = await patch(owner.hash, { disabled: true });
    expect([disabled.status, disabled.json.error.code]).toEqual([409, 'key_in_use']);
    const deleted = await server.call('DELETE', `/api/v1/keys/${owner.hash}`, { key: owner.secret });
    expect([deleted.status, deleted.json.error.code]).toEqual([409, 'key_in_use']);
  });

  function patch(hash: string, body: object) {
    return server.call('PATCH', `/api/v1/keys/${hash}`, { key: owner.secret, body });
  }
});

test('a deleted key is gone: 404 on reads, 401 for its secret, absent from the list', async () => {
  const key = await createKey(server.database, accountId);
  const deleted = await server.call('DELETE', `/api/v1/keys/${key.hash}`, { key: owner.secret });
  expect([deleted.status, deleted.json.data.hash]).toEqual([200, key.hash]);
  for (const method of ['GET', 'PATCH', 'DELETE']) {
    const body = method === 'PATCH' ? { name: 'x' } : undefined;
    const answer = await server.call(method, `/api/v1/keys/${key.hash}`, { key: owner.secret, body });
    expect([method, answer.status, answer.json.error.code]).toEqual([method, 404, 'key_not_found']);
  }
  const used = await server.call('GET', '/api/v1/key', { key: key.secret });
  expect([used.status, used.json.error.code]).toEqual([401, 'invalid_api_key']);
  const list = await server.call('GET', '/api/v1/keys?limit=1000', { key: owner.secret });
  expect(list.json.data.map((item: { hash: string }) => item.hash)).not.toContain(key.hash);
});

test('pages the list by Link headers, newest first, without gaps or repeats', async () => {
  const { id } = await createAccount(server.database);
  const keys: TestKey[] = [];
  for (let index = 0; index < 7; index += 1) {
    keys.push(await createKey(server.database, id));
  }
  const seen: string[] = [];
  let path: string | undefined = '/api/v1/keys?limit=3';
  while (path) {
    const answer = await server.call('GET', path, { key: keys[0]?.secret ?? '' });
    seen.push(...answer.json.data.map((item: { hash: string }) => item.hash));
    path = /^<(.+)>; rel="next"$/.exec(answer.headers.get('link') ?? '')?.[1];
  }
  expect(seen).toEqual(keys.map((key) => key.hash).reverse());
});

test.each(['garbage', Buffer.from('["x"]').toString('base64url'), Buffer.from('{}').toString('base64url')])(
  'returns 400 invalid_cursor for %s',
  async (cursor) => {
    const answer = await server.call('GET', `/api/v1/keys?cursor=${cursor}`, { key: owner.secret });
    expect([answer.status, answer.json.error.code]).toEqual([400, 'invalid_cursor']);
  },
);

test.each(['limit=0', 'limit=1001', 'limit=abc', 'limit=1&limit=2', 'limt=5', '__proto__=1'])(
  'returns 400 for the query %s',
  async (query) => {
    const answer = await server.call('GET', `/api/v1/keys?${query}`, { key: owner.secret });
    expect([answer.status, answer.json.error.code]).toEqual([400, 'invalid_parameter']);
  },
);

test('writes last_used_at in batches, not per request', async () => {
  const key = await createKey(server.database, accountId);
  for (let index = 0; index < 5; index += 1) {
    await server.call('GET', '/api/v1/key', { key: key.secret });
  }
  const before = await server.call('GET', '/api/v1/key', { key: key.secret });
  expect(before.json.data.last_used_at).toBeNull();
  // the first call may join a timer batch that began before the calls
  await server.lastUsed.flush();
  await server.lastUsed.flush();
  const after = await server.call('GET', '/api/v1/key', { key: key.secret });
  expect(Date.now() - Date.parse(after.json.data.last_used_at)).toBeLessThan(30_000);
});

describe('authentication', () => {
  test.each<[string, Record<string, string>, number, string]>([
    ['no credential', {}, 401, 'missing_api_key'],
    ['another scheme', { authorization: 'Basic abc' }, 401, 'invalid_api_key'],
    ['an empty bearer', { authorization: 'Bearer ' }, 401, 'invalid_api_key'],
    ['junk', { authorization: "Bearer ' OR '1'='1" }, 401, 'invalid_api_key'],
    ['an unknown key', { authorization: `Bearer ${newSecret(newUuid())}` }, 401, 'invalid_api_key'],
    ['an unknown x-api-key', { 'x-api-key': newSecret(newUuid()) }, 401, 'invalid_api_key'],
  ])('rejects %s', async (_, headers, status, code) => {
    const answer = await server.call('GET', '/api/v1/key', { headers });
    expect([answer.status, answer.json.error.code]).toEqual([status, code]);
    expect(answer.headers.get('www-authenticate')).toBe('Bearer');
  });

  test('the public hash authenticates nothing', async () => {
    expect((await server.call('GET', '/api/v1/key', { key: owner.hash })).status).toBe(401);
  });

  test('x-api-key works alone and next to the same bearer key, but not next to a different one', async () => {
    const other = await createKey(server.database, accountId);
    const alone = await server.call('GET', '/api/v1/key', { headers: { 'x-api-key': owner.secret } });
    const same = await server.call('GET', '/api/v1/key', {
      key: owner.secret,
      headers: { 'x-api-key': owner.secret },
    });
    const mixed = await server.call('GET', '/api/v1/key', {
      key: owner.secret,
      headers: { 'x-api-key': other.secret },
    });
    expect([alone.status, same.status, mixed.status]).toEqual([200, 200, 401]);
    expect(mixed.json.error.code).toBe('invalid_api_key');
  });

  test('rejects an expired key with its own error code', async () => {
    const key = await createKey(server.database, accountId, { expiresAt: new Date(Date.now() - 1000) });
    const answer = await server.call('GET', '/api/v1/key', { key: key.secret });
    expect([answer.status, answer.json.error.code]).toEqual([401, 'key_expired']);
  });
});

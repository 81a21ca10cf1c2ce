import { newUuid, parsePublicId, publicId } from '../../src/lib/ids.ts';
import { createAccount } from '../factories/account.ts';
import { createKey } from '../factories/api-key.ts';
import { createGeneration } from '../factories/generation.ts';
import type { CallOptions } from './support/answer.types.ts';
import { ADMIN_TOKEN, startTestServer, type TestServer } from './support/test-server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server?.close());

const admin = (method: string, path: string, options: CallOptions = {}) =>
  server.call(method, `/admin/v1${path}`, { key: ADMIN_TOKEN, ...options });

describe('accounts', () => {
  test('are created with credits and a working owner key', async () => {
    const created = await admin('POST', '/accounts', { body: { name: 'Acme', credits: '12.5' } });
    expect(created.status).toBe(201);
    expect(created.json.data).toMatchObject({
      id: expect.stringMatching(/^acc_/),
      name: 'Acme',
      suspended: false,
      allowed_models: null,
      total_credits: '12.50',
      total_usage: '0.00',
      remaining_credits: '12.50',
      held: '0.00',
      debt: '0.00',
      currency: 'USD',
    });
    const credits = await server.call('GET', '/api/v1/credits', { key: created.json.key });
    expect(credits.json.data).toMatchObject({ remaining_credits: '12.50', currency: 'USD' });
    expect((await admin('GET', `/accounts/${created.json.data.id}`)).json.data).toEqual(created.json.data);
    expect((await admin('GET', '/accounts?limit=1')).json.data[0].id).toBe(created.json.data.id);
  });

  test('are found by a part of the name, ignoring case, and by whether they are suspended', async () => {
    const ids: string[] = [];
    for (const name of ['Nordlicht 100%', 'the nordlicht', 'Südwind']) {
      ids.push((await admin('POST', '/accounts', { body: { name } })).json.data.id);
    }
    await admin('PATCH', `/accounts/${ids[1]}`, { body: { suspended: true } });
    const found = async (query: string) =>
      (await admin('GET', `/accounts?${query}`)).json.data.map((row: { id: string }) => row.id);
    expect(await found('q=NORDLICHT')).toEqual([ids[1], ids[0]]);
    expect(await found('q=nordlicht&suspended=true')).toEqual([ids[1]]);
    expect(await found('q=nordlicht&suspended=false')).toEqual([ids[0]]);
    // not a pattern: the search text is taken literally
    expect(await found(`q=${encodeURIComponent('0%')}`)).toEqual([ids[0]]);
  });

  test('are sorted by balance, usage and last call, in pages without gaps, with their recent charges', async () => {
    const accounts = [];
    for (const [index, charge] of ['0.5', '2', '0.25'].entries()) {
      const name = `ranked ${index}`;
      const { data } = (await admin('POST', '/accounts', { body: { name, credits: `${10 + index}` } })).json;
      const accountId = parsePublicId('account', data.id)!;
      const { id: apiKeyId } = await createKey(server.database, accountId);
      await createGeneration(server.database, { accountId, apiKeyId, charge });
      await server.database.money.query(
        "UPDATE api_keys SET last_used_at = now() - $2 * interval '1 hour' WHERE id = $1",
        [apiKeyId, index],
      );
      accounts.push({ id: data.id, apiKeyId });
    }
    const ordered = async (sort: string) => {
      const names: string[] = [];
      let path: string | undefined = `/accounts?q=ranked&limit=1&sort=${sort}`;
      while (path !== undefined) {
        const page = await admin('GET', path);
        names.push(...page.json.data.map((row: { name: string }) => row.name.slice(-1)));
        path = /<\/admin\/v1([^>]+)>/.exec(page.headers.get('link') ?? '')?.[1];
      }
      return names.join('');
    };
    expect(await ordered('created_at')).toBe('210');
    expect(await ordered('remaining_credits')).toBe('201');
    expect(await ordered('usage_30d')).toBe('102');
    expect(await ordered('last_used_at')).toBe('012');
    const account = (await admin('GET', `/accounts/${accounts[1]?.id}`)).json.data;
    expect(account).toMatchObject({ usage_24h: '2.00', usage_30d: '2.00', last_used_at: expect.any(String) });
    const costs = await admin('GET', `/accounts/${accounts[1]?.id}/costs?group_by=model`);
    expect(costs.json.data).toMatchObject([
      { amount: { value: '2.00' }, model: 'acme/small', line_item: 'input', endpoint: null },
    ]);
    const foreign = await admin('GET', '/accounts?sort=usage_30d&cursor=WyJ4Il0');
    expect(foreign.json.error.code).toBe('invalid_cursor');
  });

  test('a suspended account cannot make paid or changing calls but can still read', async () => {
    const { id } = await createAccount(server.database);
    const key = await createKey(server.database, id);
    const account = publicId('account', id);
    expect(
      (await admin('PATCH', `/accounts/${account}`, { body: { suspended: true } })).json.data.suspended,
    ).toBe(true);
    const refused = await server.call('POST', '/api/v1/keys', { key: key.secret, body: { name: 'x' } });
    expect([refused.status, refused.json.error.code]).toEqual([403, 'account_suspended']);
    expect((await server.call('GET', '/api/v1/credits', { key: key.secret })).status).toBe(200);
  });

  test.each([
    {},
    { name: '' },
    { name: 'x', credits: 5 },
    { name: 'x', credits: '-1' },
    { name: 'x', credits: '1e3' },
  ])('returns 400 for %j', async (body) => {
    expect((await admin('POST', '/accounts', { body })).status).toBe(400);
  });

  test.each(['acc_unknown', publicId('account', newUuid()), 'x'])('returns 404 for %s', async (id) => {
    for (const [method, body] of [
      ['GET', undefined],
      ['PATCH', { suspended: true }],
    ] as const) {
      const answer = await admin(method, `/accounts/${id}`, { body });
      expect([answer.status, answer.json.error.code]).toEqual([404, 'account_not_found']);
    }
  });
});

describe('corrections', () => {
  test('an adjustment is booked once per Idempotency-Key', async () => {
    const { id } = await createAccount(server.database, { credits: '1.00' });
    const path = `/accounts/${publicId('account', id)}/adjustments`;
    const options = { body: { amount: '-0.25', description: 'x' }, headers: { 'idempotency-key': 'one' } };
    const first = await admin('POST', path, options);
    expect([first.status, first.json.data.remaining_credits]).toEqual([201, '0.75']);
    expect((await admin('POST', path, options)).json.data.remaining_credits).toBe('0.75');
    const other = await admin('POST', path, { ...options, body: { amount: '-0.20', description: 'x' } });
    expect([other.status, other.json.error.code]).toEqual([422, 'idempotency_key_reused']);
  });

  test('no more than the balance can be deducted', async () => {
    const { id } = await createAccount(server.database, { credits: '1.00' });
    const answer = await admin('POST', `/accounts/${publicId('account', id)}/adjustments`, {
      body: { amount: '-1.000000001', description: 'x' },
    });
    expect([answer.status, answer.json.error.code]).toEqual([402, 'insufficient_credits']);
  });

  test('a charge can be refunded up to its amount', async () => {
    const { id } = await createAccount(server.database);
    const key = await createKey(server.database, id);
    const generation = await createGeneration(server.database, {
      accountId: id,
      apiKeyId: key.id,
      charge: '0.30',
    });
    const path = `/accounts/${publicId('account', id)}/refunds`;
    const body = { generation_id: publicId('generation', generation), description: 'bad' };
    const part = await admin('POST', path, { body: { ...body, amount: '0.10' } });
    expect([part.status, part.json.data.amount]).toEqual([201, '0.10']);
    const rest = await admin('POST', path, { body });
    expect(rest.json.data).toMatchObject({ amount: '0.20', transaction_id: expect.stringMatching(/^txn_R/) });
    const none = await admin('POST', path, { body });
    expect([none.status, none.json.error.code]).toEqual([400, 'invalid_parameter']);
    const credits = await server.call('GET', '/api/v1/credits', { key: key.secret });
    expect(credits.json.data).toMatchObject({ total_usage: '0.00', remaining_credits: '10.00' });
  });

  test('returns 400 for both or neither of the ids and 404 for an unknown one', async () => {
    const { id } = await createAccount(server.database);
    const path = `/accounts/${publicId('account', id)}/refunds`;
    expect((await admin('POST', path, { body: { description: 'x' } })).status).toBe(400);
    const both = { description: 'x', generation_id: 'gen-x', transaction_id: 'txn_x' };
    expect((await admin('POST', path, { body: both })).status).toBe(400);
    const unknown = { description: 'x', generation_id: publicId('generation', newUuid()) };
    expect((await admin('POST', path, { body: unknown })).json.error.code).toBe('transaction_not_found');
  });
});

test('verify reports correct books', async () => {
  const { json } = await admin('GET', '/ledger/verify');
  expect(json.data).toMatchObject({ ok: true, violations: [] });
  expect(json.data.checked).toBeGreaterThan(8);
});

test('verify says so when there is no such account', async () => {
  const { status, json } = await admin('GET', `/ledger/verify?account_id=${publicId('account', newUuid())}`);
  expect([status, json.error?.code]).toEqual([404, 'account_not_found']);
});

test('the audit log contains every action', async () => {
  const { json } = await admin('POST', '/accounts', {
    body: { name: 'audited' },
    headers: { 'x-request-id': 'audit-1' },
  });
  const { rows } = await server.database.money.query(
    'SELECT action, object FROM audit_log WHERE request_id = $1',
    ['audit-1'],
  );
  expect(rows).toEqual([{ action: 'account.create', object: json.data.id }]);
});

describe('access', () => {
  test.each<[string, CallOptions]>([
    ['no token', {}],
    ['a wrong token', { key: `${ADMIN_TOKEN}x` }],
    ['a part of the token', { key: ADMIN_TOKEN.slice(0, -1) }],
  ])('returns 401 for %s', async (_, options) => {
    expect((await server.call('GET', '/admin/v1/accounts', options)).status).toBe(401);
  });

  test('an owner key is not an operator token, and the operator token is not a key', async () => {
    const key = await createKey(server.database, (await createAccount(server.database)).id);
    expect((await server.call('GET', '/admin/v1/accounts', { key: key.secret })).status).toBe(401);
    expect((await server.call('GET', '/api/v1/key', { key: ADMIN_TOKEN })).status).toBe(401);
  });
});

import pg from 'pg';
import { KeysStore } from '../../src/keys/keys.store.ts';
import { newUuid } from '../../src/lib/ids.ts';
import { oneCell } from '../../src/store/cells.ts';
import { createAccount } from '../factories/account.ts';
import { createKey, type TestKey } from '../factories/api-key.ts';
import { eventually } from '../factories/eventually.ts';
import { createGeneration } from '../factories/generation.ts';
import { ADMIN_TOKEN, startTestServer, type TestServer } from './support/test-server.ts';

let server: TestServer;
const { signal } = new AbortController();

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server?.close());

async function newOwner(): Promise<{
  readonly id: string;
  readonly publicId: string;
  readonly owner: TestKey;
}> {
  const account = await createAccount(server.database);
  const owner = await createKey(server.database, account.id, { role: 'owner' });
  const read = await server.call('GET', `/api/v1/keys/${owner.hash}`, { key: owner.secret });
  return { id: account.id, publicId: read.json.data.account_id, owner };
}

function create(owner: TestKey) {
  return server.call('POST', '/api/v1/keys', { key: owner.secret, body: { name: 'one more' } });
}

function changeAccount(publicId: string, body: object) {
  return server.call('PATCH', `/admin/v1/accounts/${publicId}`, { key: ADMIN_TOKEN, body });
}

async function lockWaiter(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query('SELECT count(*)::integer AS waiting FROM pg_locks WHERE NOT granted');
  return rows[0].waiting > 0;
}

describe('the number of keys of an account', () => {
  test("is limited to 200 or to the operator's setting: beyond it 409 too_many_keys, and deleting a key frees its place", async () => {
    const { publicId, owner } = await newOwner();
    const shown = await server.call('GET', `/admin/v1/accounts/${publicId}`, { key: ADMIN_TOKEN });
    expect(shown.json.data.max_keys).toBe(200);
    expect((await changeAccount(publicId, { max_keys: 3 })).json.data.max_keys).toBe(3);
    const made = [await create(owner), await create(owner)];
    expect(made.map(({ status }) => status)).toEqual([201, 201]);
    const refused = await create(owner);
    expect([refused.status, refused.json.error.code]).toEqual([409, 'too_many_keys']);
    expect(refused.json.error.message).toMatch(/delete keys .* raise max_keys/);
    const byOperator = await server.call('POST', `/admin/v1/accounts/${publicId}/keys`, {
      key: ADMIN_TOKEN,
      body: { name: 'one more' },
    });
    expect([byOperator.status, byOperator.json.error.code]).toEqual([409, 'too_many_keys']);
    await server.call('DELETE', `/api/v1/keys/${made[0]!.json.data.hash}`, { key: owner.secret });
    expect((await create(owner)).status).toBe(201);
  });

  test('a key that is being created counts before it is committed', async () => {
    const { id, publicId, owner } = await newOwner();
    await changeAccount(publicId, { max_keys: 2 });
    const client = new pg.Client({ connectionString: server.test.ownerUrl });
    await client.connect();
    try {
      await client.query('BEGIN');
      const last = { id: newUuid(), hash: 'b'.repeat(64), name: 'last', label: 'last', role: 'inference' };
      await client.query('SELECT create_api_key($1, $2)', [id, JSON.stringify(last)]);
      const other = create(owner);
      await Promise.race([other, eventually(() => lockWaiter(client), 5_000)]);
      await client.query('COMMIT');
      expect((await other).json.error.code).toBe('too_many_keys');
    } finally {
      await client.end();
    }
  });

  test.each([0, 1.5, 100_001, null])('rejects a limit of %p keys for an account', async (maxKeys) => {
    const { publicId } = await newOwner();
    const answer = await changeAccount(publicId, { max_keys: maxKeys });
    expect([answer.status, answer.json.error.code]).toEqual([400, 'invalid_parameter']);
  });
});

describe('keys that were deleted or expired long ago', () => {
  /** Deletes a key and dates the deletion back by this many days. */
  async function deleteAgo(key: TestKey, days: number): Promise<void> {
    await asOwner(
      `UPDATE api_keys SET deleted_at = clock_timestamp() - ${days} * interval '1 day' WHERE id = '${key.id}'`,
    );
  }

  async function asOwner(sql: string): Promise<void> {
    const client = new pg.Client({ connectionString: server.test.ownerUrl });
    await client.connect();
    await client.query(sql).finally(() => client.end());
  }

  async function kept(...keys: TestKey[]): Promise<boolean[]> {
    const { rows } = await server.database.money.query('SELECT id FROM api_keys WHERE id = ANY ($1)', [
      keys.map(({ id }) => id),
    ]);
    const ids = new Set(rows.map(({ id }) => id));
    return keys.map(({ id }) => ids.has(id));
  }

  const forget = () => new KeysStore(oneCell(server.database)).forget(signal);

  test('removes a row 90 days after its deletion unless reports name the key, which is checked once', async () => {
    const { id, owner } = await newOwner();
    const makeKey = () => createKey(server.database, id, { role: 'inference' });
    const [unused, recent, charged, free] = [
      await makeKey(),
      await makeKey(),
      await makeKey(),
      await makeKey(),
    ];
    await createGeneration(server.database, { accountId: id, apiKeyId: charged.id, charge: '1.25' });
    await createGeneration(server.database, { accountId: id, apiKeyId: free.id, status: 'failed' });
    await Promise.all([
      deleteAgo(unused, 91),
      deleteAgo(recent, 89),
      deleteAgo(charged, 91),
      deleteAgo(free, 91),
    ]);
    await server.database.money.query(
      `INSERT INTO console_sessions (id, token_hash, account_id, api_key_id, ends_at)
       VALUES (gen_random_uuid(), repeat('a', 64), $1, $2, clock_timestamp())`,
      [id, unused.id],
    );
    expect(await forget()).toBe(3);
    expect(await kept(unused, recent, charged, free)).toEqual([false, true, true, true]);
    expect(await forget()).toBe(0);
    const costs = await server.call('GET', `/api/v1/costs?group_by=api_key&api_key_hash=${charged.hash}`, {
      key: owner.secret,
    });
    expect(costs.json.data).toMatchObject([{ amount: { value: '1.25' }, api_key_hash: charged.hash }]);
  });

  test('deletes a key 90 days after it expired and removes its row 90 days later', async () => {
    const { id } = await newOwner();
    const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000);
    const old = await createKey(server.database, id, { expiresAt: daysAgo(91) });
    const recent = await createKey(server.database, id, { expiresAt: daysAgo(89) });
    expect(await forget()).toBe(1);
    const { rows } = await server.database.money.query(
      'SELECT id FROM api_keys WHERE id = ANY ($1) AND deleted_at IS NOT NULL',
      [[old.id, recent.id]],
    );
    expect(rows).toEqual([{ id: old.id }]);
    await deleteAgo(old, 91);
    await forget();
    expect(await kept(old, recent)).toEqual([false, true]);
  });
});

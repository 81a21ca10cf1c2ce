import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { MIGRATIONS } from '../../migrations/catalog.ts';
import { migrateDown, migrateUp } from '../../migrations/migrate.ts';
import { bucketOf, parsePublicId, ulidToUuid, uuidTimeMs } from '../../src/lib/ids.ts';
import { type OperatorServer, startOperatorServer } from '../operators/support/operator-server.ts';

/** What a release without a bucket in its ids wrote: its rows by table, and what it returned to its callers. */
const BEFORE: { readonly facts: Facts; readonly tables: Readonly<Record<string, readonly object[]>> } =
  JSON.parse(readFileSync(fileURLToPath(new URL('./data-of-before.json', import.meta.url)), 'utf8'));

interface Facts {
  readonly account: string;
  readonly secret: string;
  readonly generation: string;
  readonly adjustment: string;
  readonly failedTask: string;
  readonly retriedTask: string;
  readonly invoice: string;
}

const { facts } = BEFORE;

let server: OperatorServer;

beforeAll(async () => {
  server = await startOperatorServer({ redisDatabase: 9 });
  const { ownerUrl, url } = server.db;
  await migrateDown({ ownerUrl }, '0045-account-alerts');
  await asOwner(async (client) => {
    // in any order, because the rows are complete
    await client.query('SET session_replication_role = replica');
    for (const [table, rows] of Object.entries(BEFORE.tables)) {
      await client.query(
        `INSERT INTO ${table} OVERRIDING SYSTEM VALUE SELECT * FROM jsonb_populate_recordset(NULL::${table}, $1::jsonb)`,
        [JSON.stringify(rows)],
      );
    }
    await client.query(
      `SELECT setval(pg_get_serial_sequence('task_events', 'id'), (SELECT max(id) FROM task_events))`,
    );
  });
  await migrateUp({ ownerUrl, applicationRole: new URL(url).username });
});
afterAll(() => server?.close());

async function asOwner<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: server.db.ownerUrl });
  await client.connect();
  return await work(client).finally(() => client.end());
}

const admin = (method: string, path: string, options = {}) =>
  server.call(method, `/admin/v1${path}`, options);

test('undoes the migrations newer than the data before inserting it', () => {
  expect(MIGRATIONS.map(({ name }) => name)).toContain('0045-account-alerts');
  expect(Object.keys(BEFORE.tables)).toEqual(
    expect.arrayContaining(['generations', 'task_events', 'webhook_tries']),
  );
});

test('has valid books, and resolves the old ids to what they named', async () => {
  expect(await server.db.violations()).toEqual([]);
  const asked = { token: facts.secret };
  const generation = await server.call('GET', `/api/v1/generation?id=${facts.generation}`, asked);
  expect([generation.status, generation.json.data.id]).toEqual([200, facts.generation]);
  const invoice = await server.call('GET', `/api/v1/billing/invoices/${facts.invoice}`, asked);
  expect([invoice.status, invoice.json.data.id]).toEqual([200, facts.invoice]);
  expect((await admin('GET', `/tasks/${facts.failedTask}`)).json.data.retried_as).toBe(facts.retriedTask);
});

test('charges a call to a key of the first version, with the bucket of its account in the id', async () => {
  expect(facts.secret).toMatch(/^sk-tg-v1-/);
  const body = { model: 'tollgate/small', messages: [{ role: 'user', content: 'Hello' }] };
  const { status, json } = await server.call('POST', '/api/v1/chat/completions', {
    token: facts.secret,
    body,
  });
  expect(status).toBe(200);
  const account = parsePublicId('account', facts.account)!;
  expect(bucketOf(parsePublicId('generation', json.id)!)).toBe(bucketOf(account));
  const made = await server.call('POST', '/api/v1/keys', { token: facts.secret, body: { name: 'second' } });
  expect(made.json.key).toMatch(/^sk-tg-v1-/);
  expect((await server.call('GET', '/api/v1/key', { token: made.json.key })).status).toBe(200);
});

test('finds an old booking by its key, and gives a new one time and bucket and finds it as well', async () => {
  const adjust = (key: string) =>
    admin('POST', `/accounts/${facts.account}/adjustments`, {
      headers: { 'idempotency-key': key },
      body: { amount: '1.00', description: 'A present' },
    });
  const repeated = await adjust('raise-1');
  expect([repeated.json.transaction_id, repeated.headers.get('idempotent-replayed')]).toEqual([
    facts.adjustment,
    'true',
  ]);
  const [first, second] = [await adjust('raise-2'), await adjust('raise-2')];
  expect(second.json.transaction_id).toBe(first.json.transaction_id);
  expect([first, second].map(({ headers }) => headers.get('idempotent-replayed'))).toEqual([null, 'true']);
  const reference = ulidToUuid(first.json.transaction_id.slice('txn_A'.length))!;
  expect(Math.abs(uuidTimeMs(reference) - Date.now())).toBeLessThan(60_000);
  expect(bucketOf(reference)).toBe(bucketOf(parsePublicId('account', facts.account)!));
});

test('keeps the successor of a task that was retried before', async () => {
  const again = await admin('POST', `/tasks/${facts.failedTask}/retry`);
  expect([again.json.data.id, again.json.data.created]).toEqual([facts.retriedTask, false]);
});

test('fills in the account of task and delivery rows', async () => {
  const { rows } = await asOwner((client) =>
    client.query(`SELECT DISTINCT account_id FROM (SELECT account_id FROM task_events
      UNION ALL SELECT account_id FROM webhook_tries UNION ALL SELECT account_id FROM task_outputs) children`),
  );
  expect(rows).toEqual([{ account_id: parsePublicId('account', facts.account) }]);
});

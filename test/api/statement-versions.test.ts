import pg from 'pg';
import { Movements } from '../../src/ledger/movements.ts';
import { newUuid, publicId } from '../../src/lib/ids.ts';
import { createAccount } from '../factories/account.ts';
import { createKey, type TestKey } from '../factories/api-key.ts';
import { createGeneration } from '../factories/generation.ts';
import { atTime } from '../factories/history.ts';
import { usd } from '../factories/ledger.ts';
import { ADMIN_TOKEN, startTestServer, type TestServer } from './support/test-server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server?.close());

/** Runs work while the ledger's clock shows that time. */
function at<T>(time: string, work: (database: TestServer['database']) => Promise<T>): Promise<T> {
  const offset = `${Date.parse(time) - Date.now()} ms`;
  return atTime(server.test.url, server.database, offset, work);
}

interface Customer {
  readonly accountId: string;
  readonly key: TestKey;
}

async function customerSince(time: string): Promise<Customer> {
  const accountId = await at(time, async (database) => {
    return (await createAccount(database, { credits: '5.00' })).id;
  });
  return { accountId, key: await createKey(server.database, accountId) };
}

const charge = ({ accountId, key }: Customer, time: string, amount: string) =>
  at(time, (database) => createGeneration(database, { accountId, apiKeyId: key.id, charge: amount }));
const close = ({ accountId }: Customer, time: string) =>
  at(time, ({ money }) => money.query('SELECT close_months($1)', [accountId]));
const lastEntryAt = async ({ accountId }: Customer): Promise<Date> => {
  const sql = 'SELECT max(at) AS at FROM ledger_entries WHERE account_id = $1';
  return (await server.database.money.query<{ at: Date }>(sql, [accountId])).rows[0]!.at;
};
const own = async ({ key }: Customer, path: string) =>
  (await server.call('GET', `/api/v1/billing/${path}`, { key: key.secret })).json;
const admin = (method: string, path: string, body?: object) =>
  server.call(method, `/admin/v1/${path}`, { key: ADMIN_TOKEN, ...(body && { body: body as never }) });

test('a clock that steps back past a close dates entries into the current month, as its draft shows', async () => {
  const customer = await customerSince('2028-05-10T00:00:00Z');
  await close(customer, '2028-06-01T00:00:05Z');
  await charge(customer, '2028-05-31T23:59:43Z', '0.10');
  expect((await lastEntryAt(customer)).toISOString()).toBe('2028-06-01T00:00:00.000Z');
  const [draft, may] = (await own(customer, 'invoices')).data;
  expect(draft).toMatchObject({ status: 'draft', usage_charge_total: '0.10', closing_balance: '4.90' });
  expect(may).toMatchObject({ usage_charge_total: '0.00', closing_balance: '5.00' });
  const [entry] = (await own(customer, 'balance-transactions')).data;
  expect(entry.invoice_id).toBe(draft.id);
});

test.each(['leap day', 'end of a year', 'after a close far ahead of time'])(
  'no entry is dated before its predecessor: %s',
  async (when) => {
    const month = { 'leap day': '2028-02', 'end of a year': '2027-12' }[when] ?? '2027-06';
    const customer = await customerSince(`${month}-05T00:00:00Z`);
    const end = new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)), 1)).getTime();
    for (const second of [-3, 2, -1, 0, -30]) {
      const time = new Date(end + second * 1000).toISOString();
      await charge(customer, time, '0.01');
      await close(customer, time);
    }
    expect((await lastEntryAt(customer)).getTime()).toBeGreaterThanOrEqual(end + 2000);
  },
);

describe('a month that an earlier release added an entry to after its close', () => {
  let customer: Customer;
  let idsBefore: string[];

  beforeAll(async () => {
    customer = await customerSince('2027-04-10T00:00:00Z');
    await charge(customer, '2027-04-11T00:00:00Z', '0.20');
    await close(customer, '2027-05-01T00:00:05Z');
    // as before, when closing a month did not yet advance the time of the account
    const owner = new pg.Client({ connectionString: server.test.ownerUrl });
    await owner.connect();
    await owner.query(`UPDATE balances SET last_at = '2027-04-11' WHERE account_id = $1`, [
      customer.accountId,
    ]);
    await owner.end();
    await charge(customer, '2027-04-30T23:59:43Z', '0.10');
    await charge(customer, '2027-05-02T00:00:00Z', '0.40');
    await close(customer, '2027-07-01T00:00:05Z');
    idsBefore = (await own(customer, 'invoices?limit=10')).data.map((row: { id: string }) => row.id);
  });

  test('is detected and stays open', async () => {
    const { json } = await admin(
      'GET',
      `ledger/verify?account_id=${publicId('account', customer.accountId)}`,
    );
    expect(json.data.ok).toBe(false);
    expect(json.data.violations[0].claim).toMatch(/^I11/);
  });

  test('is reissued: the old versions are void, the new ones final, and the chain is complete', async () => {
    const path = `accounts/${publicId('account', customer.accountId)}/statements`;
    const refused = await admin('POST', `${path}/2031-01/reissue`, { reason: 'x' });
    expect([refused.status, refused.json.error.code]).toEqual([404, 'invoice_not_found']);
    expect((await admin('POST', `${path}/2027-13/reissue`, { reason: 'x' })).status).toBe(400);
    const answer = await admin('POST', `${path}/2027-04/reissue`, { reason: 'entry of 23:59:43' });
    expect(answer.status).toBe(201);
    const rows: { period_start: string; version: number; status: string; closing_balance: string }[] =
      answer.json.data;
    const short = rows.map((row) => [
      row.period_start.slice(0, 7),
      row.version,
      row.status,
      row.closing_balance,
    ]);
    expect(short).toEqual([
      // closes on the ledger's own balance, so it already matches the new May
      ['2027-06', 1, 'paid', '4.30'],
      ['2027-05', 2, 'paid', '4.30'],
      ['2027-05', 1, 'void', '4.30'],
      ['2027-04', 2, 'paid', '4.70'],
      ['2027-04', 1, 'void', '4.80'],
    ]);
    expect(answer.json.data[1]).toMatchObject({ reissue_reason: 'entry of 23:59:43' });
    const verified = await admin(
      'GET',
      `ledger/verify?account_id=${publicId('account', customer.accountId)}`,
    );
    expect(verified.json.data.ok).toBe(true);
  });

  test('lists, ids and lines show the new version, while the void statement keeps its own', async () => {
    const paid = (await own(customer, 'invoices?status=paid')).data;
    expect(paid).toHaveLength(3);
    const voided = (await own(customer, 'invoices?status=void')).data.map((row: { id: string }) => row.id);
    expect(idsBefore).toEqual(expect.arrayContaining(voided));
    const [newApril, oldApril] = [paid.at(-1), await own(customer, `invoices/${voided.at(-1)}`)];
    expect(oldApril.data).toMatchObject({ status: 'void', closing_balance: '4.80' });
    const whole = await own(customer, `invoices/${newApril.id}`);
    expect(whole.balance_transactions).toHaveLength(oldApril.balance_transactions.length + 1);
    for (const id of whole.balance_transactions) {
      expect((await own(customer, `balance-transactions/${id}`)).data.invoice_id).toBe(newApril.id);
    }
  });

  test('is in the audit log, written in the same transaction', async () => {
    const { json } = await admin('GET', 'audit?action=statement.reissue');
    expect(json.data).toHaveLength(1);
    expect(json.data[0].detail).toEqual({ month: '2027-04', reason: 'entry of 23:59:43', statements: 2 });
  });
});

test('a reissue stops where nothing changes, and a later refund is not dated before it', async () => {
  const customer = await customerSince('2026-03-10T00:00:00Z');
  const generation = await charge(customer, '2026-03-11T00:00:00Z', '0.20');
  await close(customer, '2026-06-01T00:00:05Z');
  const path = `accounts/${publicId('account', customer.accountId)}/statements/2026-04/reissue`;
  const { json } = await admin('POST', path, { reason: 'name of the buyer' });
  expect(json.data.map((row: { version: number }) => row.version)).toEqual([1, 2, 1, 1]);
  await at('2026-05-20T00:00:00Z', ({ money }) =>
    new Movements(() => money).refundCharge(
      { accountId: customer.accountId, reference: newUuid(), description: 'late' },
      generation,
      usd('0.05'),
    ),
  );
  expect((await lastEntryAt(customer)).toISOString()).toBe('2026-06-01T00:00:00.000Z');
});

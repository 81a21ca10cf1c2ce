import { CatalogStore } from '../../src/catalog/catalog.store.ts';
import { parseCatalog } from '../../src/catalog/parse-catalog.ts';
import { Movements } from '../../src/ledger/movements.ts';
import { newUuid, publicId } from '../../src/lib/ids.ts';
import { createKey } from '../factories/api-key.ts';
import { createGeneration } from '../factories/generation.ts';
import { atTime } from '../factories/history.ts';
import { fundedAccount, purchaseCredits, usd } from '../factories/ledger.ts';
import { ADMIN_TOKEN, startTestServer, type TestServer } from './support/test-server.ts';

let server: TestServer;
let account: string;
let generation: string;

const DAY_MS = 86_400_000;
const past = (days: number): string => new Date(Date.now() - days * DAY_MS).toISOString();
const report = async (path: string) => {
  const { status, json } = await server.call('GET', `/admin/v1/${path}`, { key: ADMIN_TOKEN });
  expect(status).toBe(200);
  return json.data;
};
const lately = () => `start_time=${past(100)}&end_time=${past(-1)}`;

/**
 * Granted 5.00, bought 20.00, used 12.00. 65 days ago a 20.00 payment was reversed, which left a debt of 7.00; 2.00 of it were forgiven
 * later.
 */
beforeAll(async () => {
  server = await startTestServer();
  const { test, database } = server;
  const reference = newUuid();
  const act = { actor: 'alice', request_id: 'req_test' };
  await atTime(test.url, database, '-70 days', async (then) => {
    const opened = await fundedAccount(then, '5.00');
    account = opened.accountId;
    const bought = { accountId: account, reference, description: 'Purchase of credits' };
    await purchaseCredits(then, bought, usd('20.00'));
    generation = await createGeneration(then, { ...opened, model: 'acme/small', charge: '12.00' });
  });
  await atTime(test.url, database, '-65 days', async (then) => {
    const reversal = { accountId: account, reference: newUuid(), description: 'Chargeback' };
    await new Movements(() => then.money).reversePayment(reversal, reference, usd('20.00'));
  });
  const forgiven = { accountId: account, reference: newUuid(), description: 'A good customer', act };
  await new Movements(() => database.money).clearDebt(forgiven, 'forgiven', usd('2.00'));
});
afterAll(() => server?.close());

test('reports deferred revenue and receivables as of any instant', async () => {
  expect(await report(`reports/deferred-revenue?at=${past(68)}`)).toMatchObject({
    credits: '13.00',
    receivable: '0.00',
    accounts: 1,
  });
  expect(await report(`reports/deferred-revenue?at=${past(60)}`)).toMatchObject({
    credits: '0.00',
    receivable: '7.00',
  });
});

test('reports debts by age, minus what was repaid or forgiven', async () => {
  const [debt] = await report(`reports/aged-debts?at=${past(-1)}`);
  expect(debt).toMatchObject({
    account_id: publicId('account', account),
    owed: '5.00',
    under_90_days: '5.00',
    older: '0.00',
  });
  expect(await report(`reports/aged-debts?at=${past(68)}`)).toEqual([]);
});

test('lists the entries that operators booked by hand', async () => {
  const entries = await report(`ledger/entries?booked_by=operators&${lately()}`);
  expect(
    entries.map((entry: { actor: string; reason_code: string }) => [entry.actor, entry.reason_code]),
  ).toEqual([
    ['alice', 'write_off'],
    ['alice', 'debt_repayment'],
  ]);
});

test('reports margin by model and month and counts calls whose cost is unknown', async () => {
  const rows = await report(`reports/margin?${lately()}`);
  expect(rows).toMatchObject([
    {
      model: 'acme/small',
      calls: 1,
      calls_without_cost: 1,
      charged_without_cost: '12.00',
      charged: '12.00',
      refunded: '0.00',
      margin: '12.00',
    },
  ]);
});

test('reports margin by day, in total, by endpoint, provider and account, and accepts a list of groups', async () => {
  const by = (query: string) => report(`reports/margin?${lately()}&${query}`);
  const [all] = await by('granularity=all&group_by=account');
  expect(all).toMatchObject({ account_id: publicId('account', account), model: null, charged: '12.00' });
  const [row, ...others] = await by('granularity=day&group_by=endpoint,%20provider');
  expect(row).toMatchObject({ endpoint: expect.stringMatching(/^\//), account_id: null, model: null });
  expect([row.charged, others]).toEqual(['12.00', []]);
  const wrong = await server.call('GET', `/admin/v1/reports/margin?${lately()}&group_by=colour`, {
    key: ADMIN_TOKEN,
  });
  expect(wrong.status).toBe(400);
});

test('reports write-offs, money by payment, and paid and granted credits', async () => {
  expect(await report(`reports/write-offs?${lately()}`)).toMatchObject([
    { reason: 'debt_forgiven', count: 1, amount: '2.00' },
  ]);
  const payouts = await report(`reports/payouts?${lately()}&limit=1`);
  expect(payouts).toHaveLength(1);
  const [credits] = await report(`reports/credits?${lately()}`);
  expect(credits).toMatchObject({
    granted: { opening: '0.00', added: '5.00', used: '5.00', closing: '0.00' },
    paid: { opening: '0.00', added: '7.00', used: '7.00', closing: '0.00' },
  });
});

test('rejects a period that is too long or that ends before it starts', async () => {
  for (const query of [
    `start_time=${past(400)}&end_time=${past(0)}`,
    `start_time=${past(0)}&end_time=${past(1)}`,
  ]) {
    const { status } = await server.call('GET', `/admin/v1/reports/margin?${query}`, { key: ADMIN_TOKEN });
    expect(status).toBe(400);
  }
});

test('shows which price was in force when, including a price that was restored by someone else', async () => {
  const load = async (ago: string, prompt: string, name: string) => {
    const models = `[{ id: acme/p, endpoints: [chat], context_length: 10, max_output_tokens: 5, pricing: { prompt: "${prompt}" }, routes: [{ provider: b, model: x }] }]`;
    const text = `{ providers: [{ id: b, protocol: builtin }], models: ${models} }`;
    const { models: read } = parseCatalog(text, 'test', {});
    await atTime(server.test.url, server.database, ago, ({ money }) =>
      new CatalogStore(money).savePrices(read.values(), name),
    );
  };
  await load('-4 days', '0.000001', 'one');
  await load('-3 days', '0.000002', 'two');
  await load('-2 days', '0.000002', 'the same');
  await load('-1 days', '0.000001', 'three');
  const all = await report('prices?model=acme/p');
  expect(all.map((row: { changed_by: string }) => row.changed_by)).toEqual(['three', 'two', 'one']);
  expect(all[0].price_version).toBe(all[2].price_version);
  const [then] = await report(`prices?model=acme/p&at=${past(2.5)}`);
  expect(then).toMatchObject({ changed_by: 'two', prices: { prompt: '0.000002' } });
});

test('a generation shows when it ended and the prices it was charged at', async () => {
  const { secret } = await createKey(server.database, account);
  const { json } = await server.call('GET', `/api/v1/generation?id=${publicId('generation', generation)}`, {
    key: secret,
  });
  expect(json.data).toMatchObject({
    completed_at: expect.stringMatching(/Z$/),
    price_version: 'test',
    unit_prices: null,
  });
});

test('counts only calls that a provider answered as calls without cost', async () => {
  const { accountId, apiKeyId } = await fundedAccount(server.database, '1.00');
  const model = 'acme/refused';
  await createGeneration(server.database, { accountId, apiKeyId, model, status: 'failed', provider: null });
  const charged = await createGeneration(server.database, { accountId, apiKeyId, model, charge: '0.25' });
  const refund = { accountId, reference: newUuid(), description: 'Bad answer' };
  await new Movements(() => server.database.money).refundCharge(refund, charged, usd('0.10'));
  const rows = await report(`reports/margin?${lately()}`);
  expect(rows.find((row: { model: string }) => row.model === model)).toMatchObject({
    calls: 2,
    failed_calls: 1,
    calls_without_cost: 1,
    charged_without_cost: '0.25',
    refunded: '0.10',
    refunded_without_cost: '0.10',
  });
});

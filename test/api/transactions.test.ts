import { Movements } from '../../src/ledger/movements.ts';
import { newUuid, publicId } from '../../src/lib/ids.ts';
import { nanoUsd } from '../../src/lib/money.ts';
import { createAccount } from '../factories/account.ts';
import { createKey, type TestKey } from '../factories/api-key.ts';
import { createGeneration } from '../factories/generation.ts';
import { usd } from '../factories/ledger.ts';
import type { Answer } from './support/answer.types.ts';
import { startTestServer, type TestServer } from './support/test-server.ts';

let server: TestServer;
let accountId: string;
let owner: TestKey;
let worker: TestKey;
let generation: string;

beforeAll(async () => {
  server = await startTestServer();
  accountId = (await createAccount(server.database, { credits: '20.00' })).id;
  owner = await createKey(server.database, accountId);
  worker = await createKey(server.database, accountId, { role: 'inference' });
  for (let index = 0; index < 11; index += 1) {
    const apiKeyId = index % 2 === 0 ? owner.id : worker.id;
    generation = await createGeneration(server.database, { accountId, apiKeyId, charge: `0.0${index + 1}` });
  }
  const movement = { accountId, reference: newUuid(), description: 'Unusable answer' };
  await new Movements(() => server.database.money).refundCharge(movement, generation, usd('0.01'));
});
afterAll(() => server?.close());

const list = (query = '', key = owner): Promise<Answer> =>
  server.call('GET', `/api/v1/billing/balance-transactions${query}`, { key: key.secret });

test('lists newest first, signed, each with the balance after it', async () => {
  const { data } = (await list()).json;
  expect(data).toHaveLength(13);
  expect(data[0]).toEqual({
    reason_code: 'usage_refund',
    contra: 'revenue',
    id: expect.stringMatching(/^txn_R[0-9A-Z]{26}$/),
    type: 'refund',
    amount: { value: '0.01', currency: 'USD' },
    balance_after: { value: '19.539', currency: 'USD' },
    status: 'settled',
    created_at: expect.stringMatching(/Z$/),
    description: 'Unusable answer',
    related_generation_id: publicId('generation', generation),
    related_checkout_session_id: null,
    invoice_id: expect.stringMatching(/^inv_/),
  });
  expect(data[1]).toMatchObject({
    type: 'usage_charge',
    amount: { value: '-0.011' },
    related_generation_id: publicId('generation', generation),
  });
  expect(data.at(-1)).toMatchObject({
    type: 'adjustment',
    amount: { value: '20.00' },
    related_generation_id: null,
  });
  let balance = 0n;
  for (const row of [...data].reverse()) {
    balance += usd(row.amount.value);
    expect(usd(row.balance_after.value)).toBe(nanoUsd(balance));
  }
});

test('returns one by its id with the same content', async () => {
  const { data } = (await list()).json;
  for (const row of data) {
    const answer = await server.call('GET', `/api/v1/billing/balance-transactions/${row.id}`, {
      key: owner.secret,
    });
    expect(answer.json.data).toEqual(row);
  }
});

test.each(['', '&type=usage_charge', '&type=refund'])('pages without gaps or repeats%s', async (filter) => {
  const whole = (await list(`?limit=1000${filter}`)).json.data;
  const seen: unknown[] = [];
  let path: string | undefined = `/api/v1/billing/balance-transactions?limit=4${filter}`;
  while (path) {
    const answer: Answer = await server.call('GET', path, { key: owner.secret });
    seen.push(...answer.json.data);
    path = /^<(.+)>; rel="next"$/.exec(answer.headers.get('link') ?? '')?.[1];
  }
  expect(seen).toEqual(whole);
});

describe('filters', () => {
  test.each<[string, number]>([
    ['type=adjustment', 1],
    ['type=usage_charge', 11],
    ['type=refund', 1],
    ['type=credit_purchase', 0],
    ['start_time=2001-01-01T00:00:00Z', 13],
    ['end_time=2001-01-01T00:00:00Z', 0],
    ['start_time=4102444800', 0],
    [`api_key_hash=${'0'.repeat(64)}`, 0],
  ])('%s', async (query, count) => {
    expect((await list(`?${query}`)).json.data).toHaveLength(count);
  });

  test('by key, deleted or not, also combined with a type', async () => {
    expect((await list(`?api_key_hash=${owner.hash}`)).json.data).toHaveLength(7);
    expect((await list(`?api_key_hash=${owner.hash}&type=refund`)).json.data).toHaveLength(1);
    expect((await list(`?api_key_hash=${worker.hash}`)).json.data).toHaveLength(5);
  });

  test('with an inclusive start and an exclusive end', async () => {
    const { data } = (await list('?type=refund')).json;
    const at = Math.floor(Date.parse(data[0].created_at) / 1000);
    expect((await list(`?type=refund&start_time=${at}&end_time=${at + 1}`)).json.data).toHaveLength(1);
    expect((await list(`?type=refund&start_time=${at + 1}`)).json.data).toHaveLength(0);
  });
});

test.each(['type=charge', 'start_time=x', 'start_time=2&end_time=1', 'key=1', 'limit=0'])(
  'returns 400 for %s',
  async (query) => {
    expect((await list(`?${query}`)).status).toBe(400);
  },
);

test.each(['x', 'txn_', `txn_U${'0'.repeat(26)}`, `txn_X${'0'.repeat(26)}`, `txn_U${'Z'.repeat(26)}`])(
  'returns 404 for %s',
  async (id) => {
    const answer = await server.call('GET', `/api/v1/billing/balance-transactions/${id}`, {
      key: owner.secret,
    });
    expect([answer.status, answer.json.error.code]).toEqual([404, 'transaction_not_found']);
  },
);

test('returns 403 for an inference key', async () => {
  const answer = await list('', worker);
  expect([answer.status, answer.json.error.code]).toEqual([403, 'insufficient_scope']);
});

import pg from 'pg';
import { oneCell } from '../../src/store/cells.ts';
import { UsageReadModel } from '../../src/usage/usage.read-model.ts';
import { createAccount } from '../factories/account.ts';
import { createKey, type TestKey } from '../factories/api-key.ts';
import { createGeneration } from '../factories/generation.ts';
import { atTime } from '../factories/history.ts';
import { startTestServer, type TestServer } from './support/test-server.ts';

/** Compares the ledger's own sum of a time range with the sum of the costs, which are read from roll-ups. */

let server: TestServer;
let superuser: pg.Client;
let accountId: string;
let owner: TestKey;
let worker: TestKey;

beforeAll(async () => {
  server = await startTestServer();
  superuser = new pg.Client({ connectionString: server.test.ownerUrl });
  await superuser.connect();
  await superuser.query('SET session_replication_role = replica');
  const { url } = server.test;
  accountId = (await atTime(url, server.database, '-50 days', (then) => createAccount(then))).id;
  owner = await createKey(server.database, accountId);
  worker = await createKey(server.database, accountId, { role: 'inference' });
  for (const [daysAgo, charge] of [
    ['-40 days', '1.000000001'],
    ['-2 days', '0.25'],
    ['-1 days', '0.000000007'],
  ] as const) {
    await atTime(url, server.database, daysAgo, async (then) => {
      await createGeneration(then, { accountId, apiKeyId: owner.id, charge });
      await createGeneration(then, { accountId, apiKeyId: worker.id, charge: '0.01' });
    });
  }
  await createGeneration(server.database, {
    accountId,
    apiKeyId: owner.id,
    charge: '0.5',
    model: 'acme/large',
  });
});
afterAll(async () => {
  await superuser?.end();
  await server?.close();
});

/** A multiple of five minutes. */
function ago(days: number): string {
  return new Date(Math.floor(Date.now() / 300_000 - days * 288) * 300_000).toISOString();
}

async function ledgerTotal(query: string, key = owner): Promise<string> {
  const { status, json } = await server.call('GET', `/api/v1/costs/total?${query}`, { key: key.secret });
  expect(status).toBe(200);
  return json.data.amount.value;
}

async function sumOfCosts(query: string, key = owner): Promise<string> {
  const { json } = await server.call('GET', `/api/v1/costs?${query}&limit=1000`, { key: key.secret });
  const nano = json.data.reduce(
    (sum: bigint, { amount }: { amount: { value: string } }) => sum + inNano(amount.value),
    0n,
  );
  const digits = String(nano).padStart(10, '0');
  return `${digits.slice(0, -9)}.${digits.slice(-9).replace(/0{1,7}$/, '')}`;
}

function inNano(text: string): bigint {
  const [whole = '0', fraction = ''] = text.split('.');
  return BigInt(whole + fraction.padEnd(9, '0'));
}

test.each([
  ['everything', () => `start_time=${ago(60)}`, '1.780000008'],
  ['the last 30 days by default', () => '', '0.770000007'],
  ['a part of it', () => `start_time=${ago(3)}&end_time=${ago(0.5)}`, '0.270000007'],
  ['a range without charges', () => `start_time=${ago(30)}&end_time=${ago(20)}`, '0.00'],
  ['one key', () => `start_time=${ago(60)}&api_key_hash=${worker.hash}`, '0.03'],
])('%s: the ledger and the costs have the same total', async (_, query, wanted) => {
  expect(await ledgerTotal(query())).toBe(wanted);
  expect(await sumOfCosts(query())).toBe(wanted);
});

test('an inference key gets only its own charges, another account gets none', async () => {
  const everything = `start_time=${ago(60)}`;
  expect(await ledgerTotal(everything, worker)).toBe('0.03');
  expect(await ledgerTotal(`${everything}&api_key_hash=${owner.hash}`, worker)).toBe('0.00');
  const foreign = await createKey(server.database, (await createAccount(server.database)).id);
  expect(await ledgerTotal(everything, foreign)).toBe('0.00');
  expect(await ledgerTotal(`${everything}&api_key_hash=${worker.hash}`, foreign)).toBe('0.00');
});

/** Adds one nano-dollar too much in one place and takes it back. */
const TAMPERED: readonly [string, string, (nano: number) => string][] = [
  [
    'roll-ups',
    '1.780000008',
    (nano) =>
      `UPDATE usage_rollups SET charge = charge + ${nano}, charge_input = charge_input + ${nano} WHERE account_id = $1 AND model = 'acme/large'`,
  ],
  [
    'ledger',
    '1.780000009',
    (nano) =>
      `UPDATE ledger_entries SET amount = amount - ${nano} WHERE account_id = $1 AND type = 'usage_charge' AND amount < -900000000`,
  ],
];

test.each(TAMPERED)('detects one nano-dollar too much in the %s', async (_, ledger, change) => {
  const everything = `start_time=${ago(60)}`;
  expect((await superuser.query(change(1), [accountId])).rowCount).toBe(1);
  try {
    expect(await ledgerTotal(everything)).toBe(ledger);
    expect(await sumOfCosts(everything)).not.toBe(ledger);
  } finally {
    await superuser.query(change(-1), [accountId]);
  }
  expect(await sumOfCosts(everything)).toBe(await ledgerTotal(everything));
});

test('takes the total from the balance when there are too many charges to add up; a single key has no total then', async () => {
  const reads = new UsageReadModel(oneCell(server.database));
  const range = {
    start: new Date(ago(60)),
    end: new Date(ago(0.5)),
    granularity: 'day',
    bucketMs: 1,
  } as const;
  const ask = (apiKeyId: string | null, start: Date, most: number) =>
    reads.ledgerTotal({ accountId, apiKeyId, range: { ...range, start } }, most);
  expect(await ask(null, range.start, 6)).toBe('1280000008');
  expect(await ask(null, range.start, 5)).toBe('1280000008');
  expect(await ask(null, new Date(ago(10)), 0)).toBe('270000007');
  expect(await ask(worker.id, range.start, 3)).toBe('30000000');
  expect(await ask(worker.id, range.start, 2)).toBeNull();
});

test.each([
  ['start_time=2026-11-01T00:00:01Z', /^start_time: must be a multiple of 5 minutes/],
  [`start_time=${ago(1)}&end_time=${ago(2)}`, /^start_time: must not be after/],
  [`start_time=${ago(400)}`, /366 days/],
  ['granularity=day', /^granularity: unknown/],
])('returns 400 for %s', async (query, message) => {
  const answer = await server.call('GET', `/api/v1/costs/total?${query}`, { key: owner.secret });
  expect([answer.status, answer.json.error.message]).toEqual([400, expect.stringMatching(message)]);
});

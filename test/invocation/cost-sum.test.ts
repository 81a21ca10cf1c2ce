import { createAccount } from '../factories/account.ts';
import { createKey } from '../factories/api-key.ts';
import { testLedger } from '../factories/ledger.ts';
import { createTestDatabase, type TestDatabase } from '../setup/database.ts';
import { Gateway, model, prices } from './gateway.ts';

const CALLS = 1_000;
const LANES = 16;
const TEXT = (index: number) => `tell me about number ${index} ${'and more '.repeat(index % 7)}`;

/** One call of each kind, as a path and its body. */
const KINDS: readonly ((index: number) => readonly [path: string, body: object])[] = [
  (index) => ['/api/v1/chat/completions', { messages: [{ role: 'user', content: TEXT(index) }] }],
  (index) => ['/vendorx/v1/messages', { max_tokens: 20, messages: [{ role: 'user', content: TEXT(index) }] }],
  (index) => ['/api/v1/responses', { input: TEXT(index), max_output_tokens: 5 + (index % 20) }],
  (index) => ['/api/v1/embeddings', { model: 'vectors', input: [TEXT(index), 'another'] }],
];

let database: TestDatabase;
let gateway: Gateway;
let accountId: string;

beforeAll(async () => {
  database = await createTestDatabase();
  const account = await createAccount(database.database, { credits: '50.00' });
  accountId = account.id;
  const key = await createKey(database.database, accountId);
  gateway = await Gateway.start({
    providers: [{ id: 'builtin', protocol: 'builtin' }],
    models: [
      model('text', [{ provider: 'builtin', model: 'builtin' }], {
        pricing: prices('0.000000333', '0.000000777'),
      }),
      model('vectors', [{ provider: 'builtin', model: 'builtin' }], {
        endpoints: ['embeddings'],
        maxOutputTokens: 0,
        pricing: prices('0.000000019', '0'),
      }),
    ],
    books: {
      ledger: testLedger(database.database),
      caller: { accountId, apiKeyId: key.id, allowedModels: null, spendable: 0n as never },
    },
  });
});

afterAll(async () => {
  await gateway?.close();
  await database?.close();
});

/** Returns the cost the answer reports, in nano-USD; for a stream, the last one. */
async function costOf(index: number): Promise<bigint> {
  const [path, body] = KINDS[index % KINDS.length]!(index);
  const stream = index % 3 === 0 && !path.endsWith('embeddings');
  const response = await fetch(gateway.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'text', ...body, ...(stream && { stream }) }),
  });
  const text = await response.text();
  expect([path, response.status]).toEqual([path, 200]);
  const told = [...text.matchAll(/"cost":([0-9.e-]+)/g)].at(-1)?.[1];
  return BigInt(Math.round(Number(told) * 1e9));
}

test(`reports costs in ${CALLS} mixed answers that add up to what the ledger charged`, async () => {
  let next = 0;
  let sum = 0n;
  const lane = async () => {
    while (next < CALLS) {
      const index = next;
      next += 1;
      const cost = await costOf(index);
      sum += cost;
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  const { rows } = await database.database.money.query(
    'SELECT count(*)::int AS calls, sum(charge)::text AS charged FROM generations WHERE account_id = $1',
    [accountId],
  );
  expect(rows[0]).toEqual({ calls: CALLS, charged: sum.toString() });
});

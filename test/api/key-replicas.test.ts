import { createKey } from '../factories/api-key.ts';
import { eventually } from '../factories/eventually.ts';
import { type Customer, createCustomer } from '../operators/support/customer.ts';
import type { OperatorServer } from '../operators/support/operator-server.ts';
import { type Replica, startReplica } from './support/replica.ts';
import { startWholeApplication } from './support/whole-application.ts';

/** A key change made at one replica must take effect at the other one, which still has the old key in its cache. */

let first: OperatorServer;
let second: Replica;
let customer: Customer;

beforeAll(async () => {
  first = await startWholeApplication({ redisDatabase: 15 });
  second = await startReplica(first);
  customer = await createCustomer(first);
});
afterAll(async () => {
  await second?.close();
  await first?.close();
});

const CALLS: readonly [string, object][] = [
  ['/api/v1/chat/completions', { model: 'acme/small', max_tokens: 5, messages: [{ content: 'hello' }] }],
  ['/vendorx/v1/messages', { model: 'acme/small', max_tokens: 5, messages: [{ content: 'hello' }] }],
  ['/v3/async/image-turbo', { prompt: 'a gate', size: '256*256' }],
];

const CHANGES: readonly [string, string, object | undefined, readonly string[]][] = [
  ['disabled', 'PATCH', { disabled: true }, ['401 key_disabled']],
  ['a limit of zero', 'PATCH', { limit: 0 }, ['402 key_limit_exceeded']],
  ['deleted', 'DELETE', undefined, ['401 invalid_api_key']],
];

describe.each(CHANGES)('%s', (_, method, body, refusals) => {
  test.each(CALLS)(
    'no call of %s starts at another replica once the change is committed',
    async (path, call) => {
      const { hash, secret: token } = await createKey(first.db.database, customer.accountId, {
        role: 'inference',
      });
      // the other replica knows and caches the key
      expect((await second.call('POST', path, { token, body: call })).status).toBe(200);
      const changed = await first.call(method, `/api/v1/keys/${hash}`, {
        token: customer.secret,
        ...(body && { body }),
      });
      expect(changed.status).toBe(200);
      const refused = await second.call('POST', path, { token, body: call });
      expect(refusals).toContain(`${refused.status} ${refused.json.error.code}`);
    },
  );
});

test('reads with a disabled key end at every replica and work again once it is enabled', async () => {
  const { hash, secret: token } = await createKey(first.db.database, customer.accountId, {
    role: 'inference',
  });
  const read = async () => (await second.call('GET', '/api/v1/credits', { token })).status;
  expect(await read()).toBe(200);
  for (const [disabled, status] of [
    [true, 401],
    [false, 200],
  ] as const) {
    await first.call('PATCH', `/api/v1/keys/${hash}`, { token: customer.secret, body: { disabled } });
    await eventually(async () => (await read()) === status, 30_000, `status ${status} of a read`);
  }
});

test('charges no call that began after its key was changed while calls stream in', async () => {
  const {
    id,
    hash,
    secret: token,
  } = await createKey(first.db.database, customer.accountId, { role: 'inference' });
  const [path, body] = CALLS[0]!;
  const begun: { readonly before: boolean; readonly status: number }[] = [];
  let isChanged = false;
  let isOver = false;
  const client = async () => {
    while (!isOver) {
      const before = !isChanged;
      begun.push({ before, status: (await second.call('POST', path, { token, body })).status });
    }
  };
  const clients = Array.from({ length: 8 }, client);
  await eventually(async () => begun.length > 40, 30_000, 'calls');
  await first.call('PATCH', `/api/v1/keys/${hash}`, { token: customer.secret, body: { disabled: true } });
  isChanged = true;
  const length = begun.length;
  await eventually(async () => begun.length > length + 40, 30_000, 'more calls');
  isOver = true;
  await Promise.all(clients);
  const late = begun.filter(({ before }) => !before);
  expect(late.length).toBeGreaterThan(20);
  expect(new Set(late.map(({ status }) => status))).toEqual(new Set([401]));
  const { rows } = await first.db.database.money.query<{ count: string }>(
    `SELECT count(*) FROM ledger_entries WHERE api_key_id = $1 AND type = 'usage_charge'`,
    [id],
  );
  expect(Number(rows[0]?.count)).toBe(begun.filter(({ status }) => status === 200).length);
});

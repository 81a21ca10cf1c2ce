import type pg from 'pg';
import { PostgresLedger } from '../../src/ledger/ledger.engine.ts';
import { LedgerStore } from '../../src/ledger/ledger.store.ts';
import { Movements } from '../../src/ledger/movements.ts';
import { HoldReaper } from '../../src/ledger/reaper.ts';
import { newUuid } from '../../src/lib/ids.ts';
import { nanoUsd, ZERO_USD } from '../../src/lib/money.ts';
import {
  fundedAccount,
  holdRequest,
  settlement,
  silentLog,
  silentObserver,
  testKey,
  testLedger,
  usd,
} from '../factories/ledger.ts';
import { createTestDatabase, type TestDatabase } from '../setup/database.ts';

let db: TestDatabase;
let ledger: PostgresLedger;

beforeAll(async () => {
  db = await createTestDatabase();
  ledger = testLedger(db.database);
});

afterAll(async () => {
  await ledger?.close();
  await db?.close();
});

async function balanceOf(
  accountId: string,
): Promise<{ posted: string; held: string; used: string; debt: string }> {
  const { rows } = await db.database.money.query(
    'SELECT posted, held, used, debt FROM balances WHERE account_id = $1',
    [accountId],
  );
  return rows[0];
}

async function keyOf(id: string): Promise<{ spent: string; held: string }> {
  const { rows } = await db.database.money.query('SELECT spent, held FROM api_keys WHERE id = $1', [id]);
  return rows[0];
}

test('reserves money with a hold, charges the usage on settlement and frees the rest', async () => {
  const account = await fundedAccount(db.database, '5');
  const hold = await ledger.reserve(holdRequest(account, usd('2')));
  expect(hold.granted).toBe(usd('2'));
  expect(await balanceOf(account.accountId)).toMatchObject({ posted: '5000000000', held: '2000000000' });

  const result = await ledger.settle(settlement(hold, usd('0.000000375')));

  expect(result).toMatchObject({ outcome: 'settled', charge: 375n });
  expect(await balanceOf(account.accountId)).toMatchObject({ posted: '4999999625', held: '0', used: '375' });
  expect(await keyOf(account.apiKeyId)).toEqual({ spent: '375', held: '0' });
});

test('settling twice charges once and answers with the stored charge', async () => {
  const account = await fundedAccount(db.database, '5');
  const hold = await ledger.reserve(holdRequest(account, usd('1')));
  await ledger.settle(settlement(hold, usd('0.25')));
  const again = await ledger.settle(settlement(hold, usd('0.25')));
  expect(again).toMatchObject({ outcome: 'closed', charge: usd('0.25') });
  expect((await balanceOf(account.accountId)).posted).toBe(usd('4.75').toString());
});

test('two settlements of one hold in one batch charge once', async () => {
  const account = await fundedAccount(db.database, '5');
  const hold = await ledger.reserve(holdRequest(account, usd('1')));
  const results = await Promise.all([1, 2, 3].map(() => ledger.settle(settlement(hold, usd('0.25')))));
  expect(results.map((result) => result.charge)).toEqual([usd('0.25'), usd('0.25'), usd('0.25')]);
  expect((await balanceOf(account.accountId)).posted).toBe(usd('4.75').toString());
});

test('holds once when the same hold id is sent twice', async () => {
  const account = await fundedAccount(db.database, '5');
  const request = holdRequest(account, usd('1'));
  await ledger.reserve(request);
  expect((await ledger.reserve(request)).granted).toBe(usd('1'));
  expect((await balanceOf(account.accountId)).held).toBe(usd('1').toString());
  await ledger.settle(settlement(request, ZERO_USD, { status: 'failed' }));
  await expect(ledger.reserve(request)).rejects.toMatchObject({ code: 'idempotency_completed' });
});

test('admits a small request behind a big one that is rejected in the same batch', async () => {
  const account = await fundedAccount(db.database, '1');
  const outcomes = await Promise.allSettled([
    ledger.reserve(holdRequest(account, usd('0.5'))),
    ledger.reserve(holdRequest(account, usd('5'))),
    ledger.reserve(holdRequest(account, usd('0.5'))),
  ]);
  expect(outcomes.map((outcome) => outcome.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  for (const outcome of outcomes) {
    if (outcome.status === 'fulfilled') {
      await ledger.settle(settlement(outcome.value, ZERO_USD, { status: 'failed' }));
    }
  }
});

test('holds what the account and the key can afford between minimum and amount', async () => {
  const account = await fundedAccount(db.database, '1');
  const limited = { ...account, apiKeyId: await testKey(db.database, account.accountId, '0.4') };
  const hold = await ledger.reserve(holdRequest(limited, usd('3'), { minimum: usd('0.1') }));
  expect(hold.granted).toBe(usd('0.4'));
  const rest = await ledger.reserve(holdRequest(account, usd('3'), { minimum: usd('0.1') }));
  expect(rest.granted).toBe(usd('0.6'));
  await expect(
    ledger.reserve(holdRequest(account, usd('3'), { minimum: 1n as never })),
  ).rejects.toMatchObject({
    code: 'insufficient_credits',
    status: 402,
  });
  await ledger.settle(settlement(hold, usd('0.4')));
  await ledger.settle(settlement(rest, ZERO_USD, { status: 'failed' }));
  await expect(ledger.reserve(holdRequest(limited, nanoUsd(1n)))).rejects.toMatchObject({
    code: 'key_limit_exceeded',
  });
});

test.each([
  ['disabled', { disabled: true }, 'key_disabled'],
  ['deleted', { deleted: true as const }, 'invalid_api_key'],
  ['expired', { expiresAt: new Date(Date.now() - 1) }, 'key_expired'],
  ['confined to other models', { allowedModels: ['other/model'] }, 'model_not_allowed'],
])('holds nothing for a key that is %s', async (_, changes, code) => {
  const account = await fundedAccount(db.database, '5');
  await new Movements(() => db.database.money).changeKey(account.accountId, account.apiKeyId, changes);
  await expect(ledger.reserve(holdRequest(account, usd('1')))).rejects.toMatchObject({ code });
  expect((await balanceOf(account.accountId)).held).toBe('0');
});

test('holds nothing for a suspended account or with another account’s key', async () => {
  const account = await fundedAccount(db.database, '5');
  const other = await fundedAccount(db.database, '5');
  const crossed = { accountId: account.accountId, apiKeyId: other.apiKeyId };
  await expect(ledger.reserve(holdRequest(crossed, usd('1')))).rejects.toMatchObject({
    code: 'invalid_api_key',
  });
  await new Movements(() => db.database.money).changeAccount(account.accountId, { suspended: true });
  await expect(ledger.reserve(holdRequest(account, usd('1')))).rejects.toMatchObject({
    code: 'account_suspended',
  });
});

test('records and reports a call that another model answered under that model and its prices', async () => {
  const account = await fundedAccount(db.database, '1');
  const hold = await ledger.reserve(holdRequest(account, usd('0.5')));
  await ledger.settle(
    settlement(hold, usd('0.2'), { served: { model: 'acme/other', priceVersion: 'other-prices' } }),
  );
  const { rows } = await db.database.money.query(
    `SELECT g.model, g.price_version, u.model AS rolled FROM generations g JOIN usage_rollups u USING (account_id)
      WHERE g.id = $1`,
    [hold.id],
  );
  expect(rows).toEqual([{ model: 'acme/other', price_version: 'other-prices', rolled: 'acme/other' }]);
});

test('extends a hold while the account can afford it', async () => {
  const account = await fundedAccount(db.database, '1', '0.8');
  const hold = await ledger.reserve(holdRequest(account, usd('0.5')));
  expect(await ledger.extend(hold, usd('0.3'))).toBe(usd('0.8'));
  expect(await ledger.extend(hold, nanoUsd(1n))).toBeUndefined();
  await ledger.settle(settlement(hold, usd('0.8')));
  expect(await ledger.extend(hold, nanoUsd(1n))).toBeUndefined();
});

test('rejects only the settlement whose lines do not add up; the rest of its batch goes through', async () => {
  const account = await fundedAccount(db.database, '5');
  const holds = await Promise.all([1, 2, 3, 4].map(() => ledger.reserve(holdRequest(account, usd('0.1')))));
  const results = await Promise.allSettled(
    holds.map((hold, index) => {
      const charge = { amount: usd('0.1'), lines: { output: usd(index === 2 ? '0.2' : '0.1') } };
      return ledger.settle(settlement(hold, usd('0.1'), { charge }));
    }),
  );
  expect(results.map((result) => result.status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
  await ledger.settle(settlement(holds[2]!, ZERO_USD, { status: 'failed' }));
});

test.each([
  ['kept', ['ledger_reserve_few', 'ledger_settle_few']],
  ['fresh', ['ledger_reserve', 'ledger_settle']],
] as const)('with plans %s holds and settles a lone call by %p', async (plans, names) => {
  const account = await fundedAccount(db.database, '5');
  const sent: string[] = [];
  const query = (statement: pg.QueryConfig) => {
    sent.push(statement.name ?? '');
    return db.database.money.query(statement);
  };
  const own = new PostgresLedger(
    new LedgerStore({ query } as unknown as pg.Pool, plans),
    silentLog,
    silentObserver,
  );
  const hold = await own.reserve(holdRequest(account, usd('1')));
  expect((await own.settle(settlement(hold, usd('0.25')))).outcome).toBe('settled');
  expect(sent).toEqual(names);
  await own.close();
});

test('closes an orphaned hold at its metered charge, but not a renewed one', async () => {
  const account = await fundedAccount(db.database, '5');
  const store = new LedgerStore(db.database.money);
  const [orphan, silent, live] = await Promise.all(
    [1, 2, 3].map(() => ledger.reserve(holdRequest(account, usd('1')))),
  );
  const charge = { amount: usd('0.2'), lines: { output: usd('0.2') } };
  const usage = {
    inputTokens: 3,
    outputTokens: 7,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
  };
  await store.renew([{ id: orphan!.id, metered: { charge, usage } }], -1);
  await store.renew([{ id: silent!.id, metered: { charge: { amount: ZERO_USD, lines: {} }, usage } }], -1);
  await store.renew([{ id: live!.id, metered: { charge, usage } }], 60_000);

  expect(await new HoldReaper(store, ledger, silentLog).reap()).toBe(2);

  const { rows } = await db.database.money.query(
    'SELECT id, status, charge FROM generations WHERE account_id = $1',
    [account.accountId],
  );
  expect(rows).toEqual(
    expect.arrayContaining([
      { id: orphan!.id, status: 'cancelled', charge: usd('0.2').toString() },
      { id: silent!.id, status: 'failed', charge: '0' },
    ]),
  );
  const late = await ledger.settle(settlement(orphan!, usd('0.5')));
  expect(late).toMatchObject({ outcome: 'closed', charge: usd('0.2') });
  const lost = await db.database.money.query(
    'SELECT reason, amount FROM write_offs WHERE generation_id = $1',
    [orphan!.id],
  );
  expect(lost.rows).toEqual([{ reason: 'late_settlement', amount: usd('0.3').toString() }]);
  await ledger.settle(settlement(live!, usd('0.2')));
});

test('rejects settling a hold that never existed', async () => {
  const account = await fundedAccount(db.database, '5');
  await expect(ledger.settle(settlement({ id: newUuid(), ...account }, usd('1')))).rejects.toThrow('unknown');
});

test('ledger entries cannot be changed, deleted or truncated, not even by the owner of the schema', async () => {
  const account = await fundedAccount(db.database, '5');
  const { default: pg } = await import('pg');
  const owner = new pg.Client({ connectionString: db.ownerUrl });
  await owner.connect();
  const where = `WHERE account_id = '${account.accountId}'`;
  await expect(owner.query(`UPDATE ledger_entries SET amount = 1 ${where}`)).rejects.toThrow('append-only');
  await expect(owner.query(`DELETE FROM ledger_entries ${where}`)).rejects.toThrow('append-only');
  await expect(owner.query('TRUNCATE ledger_entries')).rejects.toThrow('append-only');
  await owner.end();
  const application = db.database.money;
  await expect(application.query(`UPDATE balances SET posted = 1 ${where}`)).rejects.toThrow(
    'permission denied',
  );
  await expect(application.query(`DELETE FROM ledger_entries ${where}`)).rejects.toThrow('permission denied');
  await expect(application.query('UPDATE api_keys SET spent = 0')).rejects.toThrow('permission denied');
});

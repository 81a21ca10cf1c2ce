import type { PostgresLedger } from '../../src/ledger/ledger.engine.ts';
import { LedgerStore } from '../../src/ledger/ledger.store.ts';
import type { Settlement } from '../../src/ledger/ledger.types.ts';
import { HoldReaper } from '../../src/ledger/reaper.ts';
import { fundedAccount, holdRequest, settlement, silentLog, testLedger, usd } from '../factories/ledger.ts';
import { createTestDatabase, type TestDatabase } from '../setup/database.ts';

/** A call that costs more than its hold is charged from the free balance. Money held for other calls stays theirs. */

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

async function writtenOff(accountId: string) {
  const { rows } = await db.database.money.query(
    'SELECT reason, amount FROM write_offs WHERE account_id = $1 ORDER BY id',
    [accountId],
  );
  return rows.map((row) => `${row.reason} ${row.amount}`);
}

function due(amount: string): Partial<Settlement> {
  const whole = usd(amount);
  const input = usd('0.000000001');
  return { charge: { amount: whole, lines: { input, output: (whole - input) as typeof whole } } };
}

test('charges usage beyond the hold to the free balance', async () => {
  const account = await fundedAccount(db.database, '5');
  const hold = await ledger.reserve(holdRequest(account, usd('1')));
  const result = await ledger.settle(settlement(hold, usd('4.5')));
  expect(result).toEqual({ outcome: 'settled', charge: usd('4.5'), shortfall: 0n, waived: 0n });
  expect(await writtenOff(account.accountId)).toEqual([]);
});

test('never touches the holds of other calls, writes off the rest, and keeps the lines adding up', async () => {
  const account = await fundedAccount(db.database, '5');
  const other = await ledger.reserve(holdRequest(account, usd('3')));
  const hold = await ledger.reserve(holdRequest(account, usd('1')));
  const result = await ledger.settle(settlement(hold, usd('4'), due('4')));
  expect(result).toEqual({ outcome: 'settled', charge: usd('2'), shortfall: usd('2'), waived: 0n });
  expect(await writtenOff(account.accountId)).toEqual([`above_hold ${usd('2')}`]);
  expect(await ledger.settle(settlement(other, usd('3')))).toMatchObject({ charge: usd('3') });
});

test('charges a key no further than its limit', async () => {
  const account = await fundedAccount(db.database, '5', '1.5');
  const hold = await ledger.reserve(holdRequest(account, usd('1')));
  const result = await ledger.settle(settlement(hold, usd('4')));
  expect(result).toMatchObject({ charge: usd('1.5'), shortfall: usd('2.5') });
});

test('charges each settlement of a batch from what the earlier ones left', async () => {
  const account = await fundedAccount(db.database, '5', '4.5');
  const store = new LedgerStore(db.database.money);
  const requests = ['1', '1', '2'].map((amount) => holdRequest(account, usd(amount)));
  await store.reserve(requests, 60_000);
  const dues = ['1.3', '9', '1.9'];
  const rows = await store.settle(
    requests.map((request, index) => ({
      settlement: settlement(request, usd(dues[index]!), due(dues[index]!)),
      onlyExpired: false,
    })),
  );
  // 0.5 is free on the key: 0.3 for the first, 0.2 for the second
  expect(rows.map((row) => row.charge)).toEqual([usd('1.3'), usd('1.2'), usd('1.9')]);
  expect(await writtenOff(account.accountId)).toEqual([`above_hold ${usd('7.8')}`]);
});

test('writes off the cost above max_cost under its own reason', async () => {
  const account = await fundedAccount(db.database, '5');
  const hold = await ledger.reserve(holdRequest(account, usd('1')));
  await ledger.settle(settlement(hold, usd('1'), { beyondMaxCost: usd('0.25') }));
  expect(await writtenOff(account.accountId)).toEqual([`above_max_cost ${usd('0.25')}`]);
});

test('waives provider failures up to an hourly allowance, then charges them', async () => {
  const account = await fundedAccount(db.database, '5');
  const waiverMax = usd('0.5');
  const broken = async (amount: string) => {
    const hold = await ledger.reserve(holdRequest(account, usd('1')));
    const { charge, waived } = await ledger.settle(
      settlement(hold, usd(amount), { status: 'failed', waiverMax }),
    );
    return { charge, waived };
  };
  expect(await broken('0.2')).toEqual({ charge: 0n, waived: usd('0.2') });
  expect(await broken('0.4')).toEqual({ charge: usd('0.4'), waived: 0n });
  expect(await broken('0.3')).toEqual({ charge: 0n, waived: usd('0.3') });
  expect(await broken('0.1')).toEqual({ charge: usd('0.1'), waived: 0n });
  expect(await broken('1.2')).toEqual({ charge: usd('1.2'), waived: 0n });
  expect(await writtenOff(account.accountId)).toEqual([
    `provider_failure ${usd('0.2')}`,
    `provider_failure ${usd('0.3')}`,
  ]);
});

test('charges in full when a process dies in a call that outgrew its hold', async () => {
  const account = await fundedAccount(db.database, '5');
  const store = new LedgerStore(db.database.money);
  const hold = await ledger.reserve(holdRequest(account, usd('1')));
  const { charge, usage } = settlement(hold, usd('1.5'));
  await store.renew([{ id: hold.id, metered: { charge, usage } }], -1);
  expect(await new HoldReaper(store, ledger, silentLog).reap()).toBe(1);
  const { rows } = await db.database.money.query('SELECT charge FROM generations WHERE id = $1', [hold.id]);
  expect(rows).toEqual([{ charge: usd('1.5').toString() }]);
});

import { Movements } from '../../src/ledger/movements.ts';
import { newUuid } from '../../src/lib/ids.ts';
import {
  fundedAccount,
  holdRequest,
  purchaseCredits,
  settlement,
  testLedger,
  usd,
} from '../factories/ledger.ts';
import { createTestDatabase, type TestDatabase } from '../setup/database.ts';

let db: TestDatabase;
let movements: Movements;

beforeAll(async () => {
  db = await createTestDatabase();
  movements = new Movements(() => db.database.money);
});
afterAll(() => db?.close());

const movement = (accountId: string, reference = newUuid()) => ({
  accountId,
  reference,
  description: 'dispute',
});

/** Sets up 10 USD paid in one purchase, some of it used, then all of it disputed. */
async function disputed(used: '0' | '7'): Promise<{ accountId: string; purchase: string }> {
  const account = await fundedAccount(db.database, '0');
  const { accountId } = account;
  const purchase = newUuid();
  await purchaseCredits(db.database, movement(accountId, purchase), usd('10'));
  await db.database.money.query(
    `INSERT INTO checkout_sessions (id, account_id, amount, currency, provider, provider_session_id, url, success_url,
       cancel_url, status, payment_status, expires_at, credited_at)
     VALUES ($1::uuid, $2, $3, 'USD', 'test', $1::text, '', '', '', 'complete', 'paid', now(), now())`,
    [purchase, accountId, usd('10').toString()],
  );
  if (used !== '0') {
    const ledger = testLedger(db.database);
    const hold = await ledger.reserve(holdRequest(account, usd(used)));
    await ledger.settle(settlement(hold, usd(used)));
    await ledger.close();
  }
  await movements.reversePayment(movement(accountId), purchase, usd('10'));
  return { accountId, purchase };
}

async function balanceOf(accountId: string): Promise<{ posted: bigint; debt: bigint }> {
  const { rows } = await db.database.money.query<{ posted: string; debt: string }>(
    'SELECT posted, debt FROM balances WHERE account_id = $1',
    [accountId],
  );
  return { posted: BigInt(rows[0]?.posted ?? -1), debt: BigInt(rows[0]?.debt ?? -1) };
}

test('repays the debt of a dispute first and credits the rest, once', async () => {
  const { accountId, purchase } = await disputed('7');
  expect(await balanceOf(accountId)).toEqual({ posted: 0n, debt: usd('7') });
  const reference = newUuid();
  for (const outcome of ['posted', 'exists', 'exists']) {
    expect(await movements.reinstatePayment(movement(accountId, reference), purchase, usd('10'))).toBe(
      outcome,
    );
  }
  expect(await balanceOf(accountId)).toEqual({ posted: usd('3'), debt: 0n });
  await expect(
    movements.reinstatePayment(movement(accountId, reference), purchase, usd('9')),
  ).rejects.toMatchObject({ code: 'idempotency_key_reused' });
});

test('writes no entry for a part that only repays debt', async () => {
  const { accountId, purchase } = await disputed('7');
  await movements.reinstatePayment(movement(accountId), purchase, usd('2'));
  expect(await balanceOf(accountId)).toEqual({ posted: 0n, debt: usd('5') });
  await movements.reinstatePayment(movement(accountId), purchase, usd('8'));
  expect(await balanceOf(accountId)).toEqual({ posted: usd('3'), debt: 0n });
});

test('reinstates no more than was reversed, and can reverse again what it reinstated', async () => {
  const { accountId, purchase } = await disputed('0');
  const tooMuch = movements.reinstatePayment(movement(accountId), purchase, usd('10.01'));
  await expect(tooMuch).rejects.toMatchObject({ code: 'invalid_parameter' });
  await movements.reinstatePayment(movement(accountId), purchase, usd('10'));
  await expect(movements.reinstatePayment(movement(accountId), purchase, usd('0.01'))).rejects.toMatchObject({
    code: 'invalid_parameter',
  });
  await movements.reversePayment(movement(accountId), purchase, usd('10'));
  expect(await balanceOf(accountId)).toEqual({ posted: 0n, debt: 0n });
});

test('returns not found for a purchase of another account or none', async () => {
  const { purchase } = await disputed('0');
  const { accountId } = await fundedAccount(db.database, '1');
  for (const reference of [purchase, newUuid()]) {
    await expect(movements.reinstatePayment(movement(accountId), reference, usd('1'))).rejects.toMatchObject({
      code: 'transaction_not_found',
    });
  }
});

test('does not reinstate again what an earlier release booked as an adjustment', async () => {
  const { accountId, purchase } = await disputed('0');
  const reference = newUuid();
  await movements.adjust(movement(accountId, reference), usd('10'));
  expect(await movements.reinstatePayment(movement(accountId, reference), purchase, usd('10'))).toBe(
    'exists',
  );
  expect(await balanceOf(accountId)).toEqual({ posted: usd('10'), debt: 0n });
});

test('books one reference once when many send it at the same time', async () => {
  const { accountId, purchase } = await disputed('7');
  const reference = newUuid();
  const outcomes = await Promise.all(
    Array.from({ length: 8 }, () =>
      movements.reinstatePayment(movement(accountId, reference), purchase, usd('10')),
    ),
  );
  expect(outcomes.filter((outcome) => outcome === 'posted')).toHaveLength(1);
  expect(await balanceOf(accountId)).toEqual({ posted: usd('3'), debt: 0n });
});

test('what calls give back repays the debt, however many of them settle at once', async () => {
  const account = await fundedAccount(db.database, '0');
  const other = await fundedAccount(db.database, '5');
  const purchase = newUuid();
  await purchaseCredits(db.database, movement(account.accountId, purchase), usd('10'));
  const ledger = testLedger(db.database);
  const [first, second, third] = await Promise.all([
    ...['4', '5'].map((amount) => ledger.reserve(holdRequest(account, usd(amount)))),
    ledger.reserve(holdRequest(other, usd('5'))),
  ]);
  await movements.reversePayment(movement(account.accountId), purchase, usd('10'));
  expect(await balanceOf(account.accountId)).toEqual({ posted: usd('9'), debt: usd('9') });

  await ledger.settle(settlement(first!, usd('1')));
  expect(await balanceOf(account.accountId)).toEqual({ posted: usd('5'), debt: usd('6') });

  await Promise.all([
    ledger.settle(settlement(second!, usd('0'))),
    ledger.settle(settlement(third!, usd('2'))),
  ]);
  expect(await balanceOf(account.accountId)).toEqual({ posted: 0n, debt: usd('1') });
  expect(await balanceOf(other.accountId)).toEqual({ posted: usd('3'), debt: 0n });
  await ledger.close();
});

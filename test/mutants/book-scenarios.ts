import { expect } from '@jest/globals';
import { Movements } from '../../src/ledger/movements.ts';
import { newUuid } from '../../src/lib/ids.ts';
import { fundedAccount, purchaseCredits, usd } from '../factories/ledger.ts';
import type { Parts } from './parts.types.ts';

/** A month is closed, then the clock is set back before its end: what is booked after that belongs to the next month. */
export async function clockSetBack({ db: { database } }: Parts): Promise<void> {
  const { accountId } = await fundedAccount(database, '1');
  const client = await database.money.connect();
  const setClock = (seconds: number) =>
    client.query(
      `SELECT set_config('tollgate.clock_offset',
         ((date_trunc('month', now(), 'UTC') + interval '1 month' - now()) + $1 * interval '1 s')::text, false)`,
      [seconds],
    );
  try {
    await setClock(60);
    await client.query('SELECT close_months($1)', [accountId]);
    await setClock(-60);
    await new Movements(() => client as never).adjust(
      { accountId, reference: newUuid(), description: 'late' },
      usd('1'),
    );
    const { rows } = await client.query<{ late: boolean }>(
      'SELECT max(e.at) >= max(i.period_end) AS late FROM ledger_entries e JOIN invoices i USING (account_id) WHERE account_id = $1',
      [accountId],
    );
    expect(rows).toEqual([{ late: true }]);
  } finally {
    client.release(true);
  }
}

/** A key used for one booking is rejected for another, and the same booking is made once. A debt is cleared once and no further. */
export async function corrections({ db: { database } }: Parts): Promise<void> {
  const { accountId } = await fundedAccount(database, '0');
  const movements = new Movements(() => database.money);
  const movement = (reference = newUuid(), description = '') => ({ accountId, reference, description });
  const purchase = newUuid();
  await purchaseCredits(database, movement(purchase), usd('10'));
  await movements.adjust(movement(), usd('-6'));
  const reversal = movement();
  expect(await movements.reversePayment(reversal, purchase, usd('7'))).toBe('posted');
  expect(await movements.reversePayment(reversal, purchase, usd('7'))).toBe('exists');
  const reused = { code: 'idempotency_key_reused' };
  await expect(movements.reversePayment(reversal, purchase, usd('3'))).rejects.toMatchObject(reused);
  const clearing = movement(newUuid(), 'transfer');
  await expect(movements.clearDebt(movement(), 'paid', usd('3.1'))).rejects.toMatchObject({
    code: 'invalid_parameter',
  });
  expect((await movements.clearDebt(clearing, 'paid', usd('3'))).outcome).toBe('posted');
  await expect(
    movements.clearDebt({ ...clearing, description: 'other' }, 'paid', usd('3')),
  ).rejects.toMatchObject(reused);
  const { rows } = await database.money.query(
    `SELECT contra::text, sum(amount)::text AS total FROM ledger_entries WHERE account_id = $1 GROUP BY contra ORDER BY contra::text`,
    [accountId],
  );
  expect(rows).toEqual([
    { contra: 'cash_clearing', total: usd('6').toString() },
    { contra: 'operator', total: usd('-6').toString() },
    { contra: 'receivable', total: '0' },
  ]);
}

import { expect } from '@jest/globals';
import { Movements } from '../../src/ledger/movements.ts';
import { newUuid } from '../../src/lib/ids.ts';
import { fundedAccount, purchaseCredits, usd } from '../factories/ledger.ts';
import type { Parts } from './parts.types.ts';

/** Refunds of a payment of 20: one fails, one is booked only up to the payment, and an outdated list is not booked. */
export async function paymentFollowed({ db: { database } }: Parts): Promise<void> {
  const { accountId } = await fundedAccount(database, '0');
  const movements = new Movements(() => database.money);
  const purchase = newUuid();
  await database.money.query(
    `INSERT INTO checkout_sessions (id, account_id, amount, currency, provider, provider_session_id, url, success_url,
       cancel_url, status, payment_status, expires_at, credited_at)
     VALUES ($1::uuid, $2, $3, 'USD', 'stripe', $1::text, '', '', '', 'complete', 'paid', now(), now())`,
    [purchase, accountId, usd('20').toString()],
  );
  await purchaseCredits(database, { accountId, reference: purchase, description: '' }, usd('20'));
  const follow = async (seen: number, ...amounts: string[]) => {
    const result = await movements.followPayment({
      accountId,
      purchaseReference: purchase,
      seen: seen.toString(),
      provider: 'stripe',
      object: 'cs_test',
      reversals: amounts.map((amount, index) => ({
        id: `re_${index}`,
        kind: 'refund',
        amount: usd(amount),
        taken: newUuid(),
        reinstated: newUuid(),
      })),
    });
    const { rows } = await database.money.query('SELECT posted FROM balances WHERE account_id = $1', [
      accountId,
    ]);
    return [result.outcome, result.unbooked, BigInt(rows[0].posted)];
  };
  expect(await follow(0, '7')).toEqual(['followed', 0n, usd('13')]);
  expect(await follow(0, '7', '5')).toEqual(['stale', 0n, usd('13')]);
  expect(await follow(1, '7', '20')).toEqual(['followed', usd('7'), usd('0')]);
  expect(await follow(2, '0', '20')).toEqual(['followed', 0n, usd('0')]);
  expect(await follow(3, '0', '0')).toEqual(['followed', 0n, usd('20')]);
}

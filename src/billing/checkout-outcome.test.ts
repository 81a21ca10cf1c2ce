import { newUuid, publicId } from '../lib/ids.ts';
import { nanoUsd } from '../lib/money.ts';
import type { CheckoutSessionRow } from '../store/models/checkout-session.model.ts';
import { checkoutOutcome } from './checkout-outcome.ts';
import type { HostedSession } from './payment/payment.types.ts';

const id = newUuid();
const PRICE = 25_000_000_000n;

function ours(changes: Partial<CheckoutSessionRow> = {}): CheckoutSessionRow {
  return {
    id,
    account_id: newUuid(),
    amount: String(PRICE),
    currency: 'USD',
    provider: 'stripe',
    provider_session_id: 'cs_test_1',
    payment_id: null,
    url: 'https://pay.example/1',
    success_url: 'https://shop.example/thanks',
    cancel_url: 'https://shop.example/cart',
    status: 'open',
    payment_status: 'unpaid',
    created_at: new Date(0),
    expires_at: new Date(1),
    credited_at: null,
    reversals_seen: '0',
    ...changes,
  };
}

function theirs(changes: Partial<HostedSession> = {}): HostedSession {
  return {
    providerSessionId: 'cs_test_1',
    sessionId: publicId('checkoutSession', id),
    url: 'https://pay.example/1',
    status: 'complete',
    paymentStatus: 'paid',
    amount: nanoUsd(PRICE),
    currency: 'USD',
    paymentId: 'pi_1',
    ...changes,
  };
}

test.each(['open', 'complete', 'expired'] as const)(
  'paid money is credited while our status is %s',
  (status) => {
    expect(checkoutOutcome(ours({ status }), theirs())).toEqual({ kind: 'credit', paymentId: 'pi_1' });
  },
);

test('a payment without an id takes the id of its session', () => {
  expect(checkoutOutcome(ours(), theirs({ paymentId: null }))).toEqual({
    kind: 'credit',
    paymentId: 'cs_test_1',
  });
});

test.each<[string, Partial<HostedSession>, RegExp]>([
  ['another session', { sessionId: publicId('checkoutSession', newUuid()) }, /another session/],
  ['no session', { sessionId: null }, /another session/],
  ['less money', { amount: nanoUsd(PRICE - 1n) }, /paid 24999999999, asked 25000000000/],
  ['more money', { amount: nanoUsd(PRICE + 1n) }, /paid 25000000001/],
  ['another currency', { currency: 'EUR' }, /paid in EUR/],
])('paid, but for %s: nothing is credited', (_, changes, reason) => {
  expect(checkoutOutcome(ours(), theirs(changes))).toEqual({
    kind: 'mismatch',
    reason: expect.stringMatching(reason),
  });
});

test('a credited session does not change again, whatever the provider says', () => {
  const credited = ours({ credited_at: new Date(2), status: 'complete', payment_status: 'paid' });
  expect(checkoutOutcome(credited, theirs())).toEqual({ kind: 'nothing' });
  expect(checkoutOutcome(credited, theirs({ amount: nanoUsd(1n) }))).toEqual({ kind: 'nothing' });
});

test('an unpaid session that has ended at the provider ends here as well, once', () => {
  const expired = theirs({ status: 'expired', paymentStatus: 'unpaid', paymentId: null });
  expect(checkoutOutcome(ours(), expired)).toEqual({
    kind: 'move',
    status: 'expired',
    paymentStatus: 'unpaid',
  });
  expect(checkoutOutcome(ours({ status: 'expired' }), expired)).toEqual({ kind: 'nothing' });
});

test('a session that is still open at the provider changes nothing', () => {
  const open = theirs({ status: 'open', paymentStatus: 'unpaid', paymentId: null });
  expect(checkoutOutcome(ours(), open)).toEqual({ kind: 'nothing' });
});

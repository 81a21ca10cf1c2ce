import type Stripe from 'stripe';
import type { PaymentReversal } from './payment.types.ts';
import { fromCents } from './stripe-cents.ts';

const USD = 'usd';

/** A refund takes the money when it is created, and returns it when it fails (docs.stripe.com/refunds#failed-refunds). */
export function reversalOfRefund({ id, status, amount, currency }: Stripe.Refund): PaymentReversal {
  const isTaken = status !== 'failed' && status !== 'canceled';
  return { id, kind: 'refund', amount: fromCents(isTaken ? amount : 0), currency: currency.toUpperCase() };
}

/**
 * A dispute's money is withdrawn while it is open and returned when it is won. A bank may dispute in the currency of the card: then what
 * was withdrawn from a balance in US dollars counts, and without such a balance the dispute keeps its own currency.
 */
export function reversalOfDispute(dispute: Stripe.Dispute): PaymentReversal {
  const { id, currency, balance_transactions: moves = [] } = dispute;
  const isTaken = isDisputeTaken(dispute);
  const inUsd = moves.filter((move) => move.currency === USD);
  if (currency !== USD && inUsd.length > 0) {
    const withdrawn = -inUsd.reduce((sum, { amount }) => sum + amount, 0);
    return { id, kind: 'dispute', amount: fromCents(isTaken ? Math.max(0, withdrawn) : 0), currency: 'USD' };
  }
  const amount = fromCents(isTaken ? dispute.amount : 0);
  return { id, kind: 'dispute', amount, currency: currency.toUpperCase() };
}

/**
 * Warnings are inquiries: no money moves until they become disputes. For a prevented dispute, the balance transactions show whether
 * money was withdrawn.
 */
function isDisputeTaken({ status, balance_transactions: moves = [] }: Stripe.Dispute): boolean {
  if (status === 'prevented') {
    return moves.some(({ amount }) => amount < 0) && !moves.some(({ amount }) => amount > 0);
  }
  return status !== 'won' && !status.startsWith('warning_');
}

import { publicId } from '../lib/ids.ts';
import type { CheckoutSessionRow } from '../store/models/checkout-session.model.ts';
import type { CheckoutStatus, HostedSession, PaymentStatus } from './payment/payment.types.ts';

export type CheckoutOutcome =
  | { readonly kind: 'credit'; readonly paymentId: string }
  | { readonly kind: 'move'; readonly status: CheckoutStatus; readonly paymentStatus: PaymentStatus }
  | { readonly kind: 'mismatch'; readonly reason: string }
  | { readonly kind: 'nothing' };

/** Money was paid that is not what we asked for: an operator has to look at it. */
export class PaymentMismatch extends Error {
  override readonly name = 'PaymentMismatch';
}

/**
 * Decides what the provider's view of a session means for ours. Paid money is credited whatever our status is, but only when
 * session, amount and currency are those we asked for.
 */
export function checkoutOutcome(ours: CheckoutSessionRow, theirs: HostedSession): CheckoutOutcome {
  if (ours.credited_at !== null) {
    return { kind: 'nothing' };
  }
  if (theirs.paymentStatus === 'paid') {
    const reason = mismatch(ours, theirs);
    return reason === undefined
      ? { kind: 'credit', paymentId: theirs.paymentId ?? theirs.providerSessionId }
      : { kind: 'mismatch', reason };
  }
  const isSame = ours.status === theirs.status && ours.payment_status === theirs.paymentStatus;
  return theirs.status === 'open' || isSame
    ? { kind: 'nothing' }
    : { kind: 'move', status: theirs.status, paymentStatus: theirs.paymentStatus };
}

function mismatch(ours: CheckoutSessionRow, theirs: HostedSession): string | undefined {
  if (theirs.sessionId !== publicId('checkoutSession', ours.id)) {
    return 'it belongs to another session';
  }
  if (theirs.amount !== BigInt(ours.amount)) {
    return `paid ${theirs.amount}, asked ${ours.amount} nano-USD`;
  }
  return theirs.currency === ours.currency ? undefined : `paid in ${theirs.currency}`;
}

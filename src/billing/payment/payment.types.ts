import type { NanoUsd } from '../../lib/money.ts';

export type CheckoutStatus = 'open' | 'complete' | 'expired';
export type PaymentStatus = 'unpaid' | 'paid' | 'no_payment_required';

export interface HostedSessionRequest {
  /** Public id of our session: the provider is told it, and it makes the creation idempotent. */
  readonly sessionId: string;
  /** Whole cents. */
  readonly amount: NanoUsd;
  readonly successUrl: string;
  readonly cancelUrl: string;
  readonly expiresAt: Date;
}

/** A session as the provider sees it, asked for anew: what an event says about it is never believed. */
export interface HostedSession {
  readonly providerSessionId: string;
  /** The public id of our session, as we told it. */
  readonly sessionId: string | null;
  readonly url: string | null;
  readonly status: CheckoutStatus;
  readonly paymentStatus: PaymentStatus;
  readonly amount: NanoUsd;
  /** Upper case. */
  readonly currency: string;
  readonly paymentId: string | null;
}

/** A refund or a dispute as it stands at the provider. */
export interface PaymentReversal {
  /** The provider's id of the refund or dispute. */
  readonly id: string;
  readonly kind: 'refund' | 'dispute';
  /** What it takes of the payment now, in nano-USD; zero once it failed, was cancelled or was won. */
  readonly amount: NanoUsd;
}

/** Someone who takes money on a page of their own. Every call has a time limit and throws AppError provider_error. */
export interface PaymentProvider {
  readonly name: string;
  createSession(
    request: HostedSessionRequest,
  ): Promise<{ readonly providerSessionId: string; readonly url: string }>;
  fetchSession(providerSessionId: string): Promise<HostedSession>;
  /** Every refund and dispute of a payment, also those that came to nothing. */
  reversalsOf(paymentId: string): Promise<PaymentReversal[]>;
}

/** A verified notification, reduced to what is worth keeping: which object to ask about. */
export interface PaymentEvent {
  readonly id: string;
  readonly type: string;
  /** `session`: a checkout session changed; `payment`: a payment was taken back; `other`: nothing for us. */
  readonly subject: 'session' | 'payment' | 'other';
  readonly objectId: string | null;
}

/** Checks a notification's signature on its raw bytes. Throws AppError signature_invalid. */
export type EventVerifier = (bytes: Buffer, signature: string | undefined) => PaymentEvent;

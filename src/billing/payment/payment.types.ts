import type { NanoUsd } from '../../lib/money.ts';

export type CheckoutStatus = 'open' | 'complete' | 'expired';
export type PaymentStatus = 'unpaid' | 'paid' | 'no_payment_required';

export interface HostedSessionRequest {
  /** Public id of our session. The provider stores it, and it makes the creation idempotent. */
  readonly sessionId: string;
  /** Whole cents. */
  readonly amount: NanoUsd;
  readonly successUrl: string;
  readonly cancelUrl: string;
  readonly expiresAt: Date;
}

/** A session as the provider sees it, fetched again: what an event says about it is never trusted. */
export interface HostedSession {
  readonly providerSessionId: string;
  /** The public id of our session, as we passed it. */
  readonly sessionId: string | null;
  readonly url: string | null;
  readonly status: CheckoutStatus;
  readonly paymentStatus: PaymentStatus;
  readonly amount: NanoUsd;
  /** Upper case. */
  readonly currency: string;
  readonly paymentId: string | null;
}

/** A refund or a dispute in its current state at the provider. */
export interface PaymentReversal {
  /** The provider's id of the refund or dispute. */
  readonly id: string;
  readonly kind: 'refund' | 'dispute';
  /** What it currently takes from the payment, in nano-USD; zero once it failed, was canceled or was won. */
  readonly amount: NanoUsd;
  /** Upper case. In any other than USD, the amount only says whether something is taken. */
  readonly currency: string;
}

/** What a payment, refund or dispute moved on the operator's balance at the provider. */
export interface PaymentMove {
  readonly id: string;
  readonly paymentId: string;
  /** The provider's own term. */
  readonly kind: string;
  /** In the smallest unit of {@link currency}, before the fee; negative when it was taken. */
  readonly amount: number;
  readonly fee: number;
  /** Currency of the balance, upper case; it may differ from the currency of the payment. */
  readonly currency: string;
  /** Exchange rate from the payment's currency to the balance's; null when they are the same. */
  readonly exchangeRate: number | null;
  readonly createdAt: Date;
  /** When it may be paid out. */
  readonly availableAt: Date;
  readonly payoutId: string | null;
  /** When the payout is expected at the bank. */
  readonly arrivesAt: Date | null;
}

/** Reads the moves of payments. Every page that is read has a time limit and throws AppError provider_error. */
export interface MovesSource {
  readonly name: string;
  movesBetween(start: Date, end: Date): AsyncIterable<PaymentMove>;
  /** Yields the moves in payouts made since `start`, with their payout. */
  paidOutSince(start: Date): AsyncIterable<PaymentMove>;
}

/** A provider that takes money on a page of its own. Every call has a time limit and throws AppError provider_error. */
export interface PaymentProvider {
  readonly name: string;
  createSession(
    request: HostedSessionRequest,
  ): Promise<{ readonly providerSessionId: string; readonly url: string }>;
  /** Returns undefined for a session that the provider does not know, such as one opened with the key of its test mode. */
  fetchSession(providerSessionId: string): Promise<HostedSession | undefined>;
  /** Closes an open session, so that nobody can pay it. Returns undefined when it is not open anymore or unknown: fetch it again. */
  expireSession(providerSessionId: string): Promise<HostedSession | undefined>;
  /** Returns where the payer finds the provider's own invoice or receipt of a paid session; null when there is none or no such session. */
  receiptUrlOf(providerSessionId: string): Promise<string | null>;
  /** Returns every refund and dispute of a payment, including unsuccessful ones. */
  reversalsOf(paymentId: string): Promise<PaymentReversal[]>;
}

/** A verified notification, reduced to what is worth keeping: which object to ask about. */
export interface PaymentEvent {
  readonly id: string;
  readonly type: string;
  /** `session`: a checkout session changed; `payment`: a refund or dispute of a payment changed; `other`: not relevant to us. */
  readonly subject: 'session' | 'payment' | 'other';
  readonly objectId: string | null;
}

/** Checks a notification's signature on its raw bytes. Throws AppError signature_invalid, invalid_request. */
export type EventVerifier = (bytes: Buffer, signature: string | undefined) => PaymentEvent;

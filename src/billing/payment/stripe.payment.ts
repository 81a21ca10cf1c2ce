import { createRequire } from 'node:module';
import type Stripe from 'stripe';
import { AppError, invariant } from '../../lib/errors.ts';
import type {
  CheckoutStatus,
  HostedSession,
  HostedSessionRequest,
  MovesSource,
  PaymentEvent,
  PaymentMove,
  PaymentProvider,
  PaymentReversal,
  PaymentStatus,
} from './payment.types.ts';
import { fromCents, toCents } from './stripe-cents.ts';
import { reversalOfDispute, reversalOfRefund } from './stripe-reversals.ts';

export interface StripeOptions {
  readonly secretKey: string;
  /** At least 16 characters: with an empty secret, anyone could sign events. */
  readonly webhookSecret: string;
  /** An origin to use instead of Stripe's, for tests against a contract server. */
  readonly baseUrl?: string;
}

/** Loads the SDK only where Stripe is configured: its 257 files are an eighth of what an API process loads. */
const require = createRequire(import.meta.url);

const TIMEOUT_MS = 10_000;
const SIGNATURE_TOLERANCE_SECONDS = 300;
const PAGE_SIZE = 100;
/** Maximum number of refunds, disputes or payouts that Stripe's SDK reads by following pages. */
const REVERSALS_MAX = 10_000;
const STATUSES: readonly CheckoutStatus[] = ['open', 'complete', 'expired'];
const PAYMENT_STATUSES: readonly PaymentStatus[] = ['unpaid', 'paid', 'no_payment_required'];

/** Stripe's hosted checkout. */
export class StripePayment implements PaymentProvider, MovesSource {
  readonly name = 'stripe';
  readonly #sdk = require('stripe') as typeof Stripe;
  readonly #stripe: Stripe;
  readonly #webhookSecret: string;

  constructor(options: StripeOptions) {
    invariant(options.webhookSecret.length >= 16, 'the webhook secret of Stripe has at least 16 characters');
    this.#webhookSecret = options.webhookSecret;
    this.#stripe = new this.#sdk(options.secretKey, {
      timeout: TIMEOUT_MS,
      maxNetworkRetries: 2,
      telemetry: false,
      appInfo: { name: 'tollgate' },
      ...(options.baseUrl !== undefined && origin(options.baseUrl)),
    });
  }

  async createSession(request: HostedSessionRequest): Promise<{ providerSessionId: string; url: string }> {
    const session = await this.#call(() =>
      this.#stripe.checkout.sessions.create(
        {
          mode: 'payment',
          client_reference_id: request.sessionId,
          success_url: request.successUrl,
          cancel_url: request.cancelUrl,
          expires_at: Math.floor(request.expiresAt.getTime() / 1000),
          line_items: [
            {
              quantity: 1,
              price_data: {
                currency: 'usd',
                unit_amount: toCents(request.amount),
                product_data: { name: 'Prepaid credits' },
              },
            },
          ],
        },
        { idempotencyKey: request.sessionId },
      ),
    );
    return { providerSessionId: session.id, url: session.url ?? '' };
  }

  async fetchSession(providerSessionId: string): Promise<HostedSession | undefined> {
    const session = await this.#call(() =>
      this.#stripe.checkout.sessions.retrieve(providerSessionId).catch(this.#undefinedIfUnknown),
    );
    return session && hostedSession(session);
  }

  async expireSession(providerSessionId: string): Promise<HostedSession | undefined> {
    const session = await this.#call(() =>
      this.#stripe.checkout.sessions.expire(providerSessionId).catch(this.#undefinedIfUnknown),
    );
    return session && hostedSession(session);
  }

  async receiptUrlOf(providerSessionId: string): Promise<string | null> {
    const expand = ['invoice', 'payment_intent.latest_charge'];
    const session = await this.#call(() =>
      this.#stripe.checkout.sessions.retrieve(providerSessionId, { expand }).catch(this.#undefinedIfUnknown),
    );
    const { invoice, payment_intent: payment } = session ?? {};
    const charge = typeof payment === 'object' ? payment?.latest_charge : undefined;
    const invoiceUrl = typeof invoice === 'object' ? invoice?.hosted_invoice_url : undefined;
    const receiptUrl = typeof charge === 'object' ? charge?.receipt_url : undefined;
    return invoiceUrl ?? receiptUrl ?? null;
  }

  async reversalsOf(paymentId: string): Promise<PaymentReversal[]> {
    const query = { payment_intent: paymentId, limit: PAGE_SIZE };
    return this.#call(async () => {
      const refunds = await this.#stripe.refunds.list(query).autoPagingToArray({ limit: REVERSALS_MAX });
      const disputes = await this.#stripe.disputes.list(query).autoPagingToArray({ limit: REVERSALS_MAX });
      return [...refunds.map(reversalOfRefund), ...disputes.map(reversalOfDispute)];
    });
  }

  async *movesBetween(start: Date, end: Date): AsyncGenerator<PaymentMove> {
    // Stripe counts in whole seconds, and the second of the end is included
    yield* this.#moves({ created: { gte: seconds(start), lte: seconds(end) } }, undefined);
  }

  async *paidOutSince(start: Date): AsyncGenerator<PaymentMove> {
    const query = { created: { gte: seconds(start) }, limit: PAGE_SIZE };
    const payouts = await this.#call(() =>
      this.#stripe.payouts.list(query).autoPagingToArray({ limit: REVERSALS_MAX }),
    );
    // the contents of a manual payout are unknown
    for (const payout of payouts.filter(({ automatic, status }) => automatic && status !== 'failed')) {
      yield* this.#moves({ payout: payout.id }, payout);
    }
  }

  /** Yields the moves of payments, reading page by page. */
  async *#moves(
    filter: Stripe.BalanceTransactionListParams,
    payout: Stripe.Payout | undefined,
  ): AsyncGenerator<PaymentMove> {
    const query = { ...filter, limit: PAGE_SIZE, expand: ['data.source'] };
    for (let after: string | undefined; ; ) {
      const from = after === undefined ? {} : { starting_after: after };
      const page = await this.#call(() => this.#stripe.balanceTransactions.list({ ...query, ...from }));
      for (const transaction of page.data) {
        const move = moveOf(transaction, payout);
        if (move) {
          yield move;
        }
      }
      after = page.data.at(-1)?.id;
      if (!page.has_more || after === undefined) {
        return;
      }
    }
  }

  /** Checks an event's signature on its raw bytes. Throws AppError signature_invalid, invalid_request for one without an object. */
  verify(bytes: Buffer, signature: string | undefined): PaymentEvent {
    try {
      const event = this.#stripe.webhooks.constructEvent(
        bytes,
        signature ?? '',
        this.#webhookSecret,
        SIGNATURE_TOLERANCE_SECONDS,
      );
      return toEvent(event);
    } catch (cause) {
      if (!(cause instanceof this.#sdk.errors.StripeSignatureVerificationError)) {
        throw new AppError(
          'invalid_request',
          'The event is signed but has no object to ask about: choose the payload style snapshot, not thin, for this endpoint at Stripe.',
          { cause },
        );
      }
      throw new AppError('signature_invalid', 'The signature of this event is not valid.', {
        status: 400,
        cause,
      });
    }
  }

  /** The session belongs to another Stripe account, or to the other of its two modes: Stripe never finds it with this key. */
  readonly #undefinedIfUnknown = (error: unknown): undefined => {
    if (!(error instanceof this.#sdk.errors.StripeInvalidRequestError)) {
      throw error;
    }
  };

  async #call<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      throw new AppError('provider_error', 'The payment provider could not be reached.', { cause });
    }
  }
}

function hostedSession(session: Stripe.Checkout.Session): HostedSession {
  return {
    providerSessionId: session.id,
    sessionId: session.client_reference_id,
    url: session.url,
    status: STATUSES.find((status) => status === session.status) ?? 'open',
    paymentStatus: PAYMENT_STATUSES.find((status) => status === session.payment_status) ?? 'unpaid',
    amount: fromCents(session.amount_total ?? 0),
    currency: (session.currency ?? '').toUpperCase(),
    paymentId: idOf(session.payment_intent),
  };
}

function toEvent(event: Stripe.Event): PaymentEvent {
  const object = event.data.object as { id?: string; payment_intent?: string | { id: string } | null };
  if (event.type.startsWith('checkout.session.')) {
    return { id: event.id, type: event.type, subject: 'session', objectId: object.id ?? null };
  }
  if (/^(charge\.refunded|charge\.dispute\.|refund\.|charge\.refund\.)/.test(event.type)) {
    const objectId = idOf(object.payment_intent ?? null);
    return { id: event.id, type: event.type, subject: 'payment', objectId };
  }
  return { id: event.id, type: event.type, subject: 'other', objectId: null };
}

/** Returns undefined for moves without a payment: a payout, a fee of the provider. */
function moveOf(
  transaction: Stripe.BalanceTransaction,
  payout: Stripe.Payout | undefined,
): PaymentMove | undefined {
  const source = transaction.source as { payment_intent?: string | { id: string } | null } | string | null;
  const paymentId = typeof source === 'object' ? idOf(source?.payment_intent ?? null) : null;
  return paymentId === null
    ? undefined
    : {
        id: transaction.id,
        paymentId,
        kind: transaction.type,
        amount: transaction.amount,
        fee: transaction.fee,
        currency: transaction.currency.toUpperCase(),
        exchangeRate: transaction.exchange_rate,
        createdAt: new Date(transaction.created * 1_000),
        availableAt: new Date(transaction.available_on * 1_000),
        payoutId: payout?.id ?? null,
        arrivesAt: payout ? new Date(payout.arrival_date * 1_000) : null,
      };
}

function seconds(time: Date): number {
  return Math.floor(time.getTime() / 1_000);
}

function idOf(reference: string | { id: string } | null): string | null {
  return typeof reference === 'string' ? reference : (reference?.id ?? null);
}

function origin(baseUrl: string): { host: string; port: string; protocol: 'http' | 'https' } {
  const { hostname, port, protocol } = new URL(baseUrl);
  const isPlain = protocol === 'http:';
  return { host: hostname, port: port || (isPlain ? '80' : '443'), protocol: isPlain ? 'http' : 'https' };
}

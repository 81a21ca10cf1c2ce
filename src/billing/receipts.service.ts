import type { Seller } from '../catalog/catalog.types.ts';
import { AppError } from '../lib/errors.ts';
import { publicId } from '../lib/ids.ts';
import { formatUsd, nanoUsd } from '../lib/money.ts';
import type { CheckoutService } from './checkout.service.ts';
import type { DocumentsStore } from './documents.store.ts';
import type { IssuedDocument } from './documents.types.ts';
import { receiptPdf } from './receipt-pdf.ts';

/** Receipts for purchases of credits. */
export class ReceiptsService {
  readonly #checkout: Pick<CheckoutService, 'get' | 'receiptUrl'>;
  readonly #store: DocumentsStore;
  readonly #seller: () => Seller | undefined;

  constructor(
    checkout: Pick<CheckoutService, 'get' | 'receiptUrl'>,
    store: DocumentsStore,
    seller: () => Seller | undefined,
  ) {
    this.#checkout = checkout;
    this.#store = store;
    this.#seller = seller;
  }

  /**
   * Returns the receipt of a paid session. It is issued at the first request and never changes. Throws AppError
   * checkout_session_not_found, provider_error.
   */
  async get(accountId: string, sessionId: string): Promise<IssuedDocument> {
    const session = await this.#checkout.get(accountId, sessionId);
    const paidAt = session.credited_at;
    if (paidAt === null) {
      throw new AppError(
        'checkout_session_not_found',
        'This checkout session has no receipt: it is not paid yet.',
      );
    }
    const amount = nanoUsd(session.amount);
    const payment = `${session.provider} ${session.payment_id ?? ''}`.trim();
    const issued = await this.#store.find(accountId, session.id);
    if (issued) {
      return issued;
    }
    const facts = {
      seller: this.#seller(),
      buyer: await this.#store.buyer(accountId),
      payment,
      providerUrl: await this.#checkout.receiptUrl(session),
    };
    return await this.#store.issue({
      id: session.id,
      kind: 'receipt',
      accountId,
      csv: undefined,
      print: async (number, issuedAt) => ({
        pdf: await receiptPdf({
          ...facts,
          number,
          issuedAt,
          paidAt,
          session: publicId('checkoutSession', session.id),
          amount,
        }),
        facts: { ...facts, amount: formatUsd(amount), paid_at: paidAt.toISOString() },
      }),
    });
  }
}

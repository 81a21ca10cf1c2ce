import { createHash } from 'node:crypto';
import type { Movements } from '../ledger/movements.ts';
import { AppError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { CheckoutSessionRow } from '../store/models/checkout-session.model.ts';
import type { PaymentProvider, PaymentReversal } from './payment/payment.types.ts';

/** Books what a provider took back of a payment: refunds and disputes, each once. */
export class ReversalsService {
  readonly #movements: Movements;
  readonly #provider: PaymentProvider;
  readonly #log: Logger;

  constructor(movements: Movements, provider: PaymentProvider, log: Logger) {
    this.#movements = movements;
    this.#provider = provider;
    this.#log = log;
  }

  /** Compares a paid session with the provider's list. Throws AppError provider_error. */
  async follow(session: CheckoutSessionRow): Promise<void> {
    if (session.payment_id === null || session.credited_at === null) {
      return;
    }
    for (const reversal of await this.#provider.reversalsOf(session.payment_id)) {
      await this.#book(session, reversal);
    }
  }

  async #book(session: CheckoutSessionRow, reversal: PaymentReversal): Promise<void> {
    const reference = (purpose: string) => derivedUuid(`${this.#provider.name}/${reversal.id}/${purpose}`);
    const accountId = session.account_id;
    const description = reversal.kind === 'refund' ? 'Payment refunded' : 'Payment disputed';
    try {
      await this.#movements.reversePayment(
        { accountId, reference: reference('taken'), description },
        session.id,
        reversal.amount,
      );
    } catch (error) {
      // a dispute of a payment that was refunded already: there is nothing left to take
      if (!(error instanceof AppError && error.code === 'invalid_parameter')) {
        throw error;
      }
      this.#log.error(
        { session: session.id, reversal: reversal.id },
        'reversal exceeds its purchase, not booked',
      );
      return;
    }
    if (reversal.isReinstated) {
      const movement = {
        accountId,
        reference: reference('reinstated'),
        description: 'Dispute decided in your favour',
      };
      await this.#movements.reinstatePayment(movement, session.id, reversal.amount);
    }
  }
}

/** The same id for the same name: what makes booking it twice a no-op. */
function derivedUuid(name: string): string {
  const hex = createHash('sha256').update(name).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`;
}

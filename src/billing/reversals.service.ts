import type { Movements } from '../ledger/movements.ts';
import { AppError } from '../lib/errors.ts';
import { namedUuid, publicId } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import { formatUsd } from '../lib/money.ts';
import type { CheckoutSessionRow } from '../store/models/checkout-session.model.ts';
import type { CheckoutStore } from './checkout.store.ts';
import { PaymentMismatch } from './checkout-outcome.ts';
import type { PaymentProvider, PaymentReversal } from './payment/payment.types.ts';

/** Several events of one payment arrive at once; each that is overtaken asks the provider again. */
const TRIES_MAX = 5;

/**
 * Makes the ledger match the provider's refunds and disputes of a payment. Only their current state counts: pending, failed,
 * canceled, won, reopened, in any order and number, end with credits that equal the money.
 */
export class ReversalsService {
  readonly #movements: Movements;
  readonly #sessions: Pick<CheckoutStore, 'find'>;
  readonly #provider: PaymentProvider;
  readonly #log: Logger;

  constructor(
    movements: Movements,
    sessions: Pick<CheckoutStore, 'find'>,
    provider: PaymentProvider,
    log: Logger,
  ) {
    this.#movements = movements;
    this.#sessions = sessions;
    this.#provider = provider;
    this.#log = log;
  }

  /**
   * Books what changed since the last time. Throws AppError provider_error, service_unavailable when others were always faster, and
   * PaymentMismatch for a reversal whose amount is not known in the currency of the payment, once the others are booked.
   */
  async follow(session: CheckoutSessionRow): Promise<void> {
    let row: CheckoutSessionRow | undefined = session;
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      if (!row?.payment_id || row.credited_at === null) {
        return;
      }
      if (await this.#book(row, row.payment_id)) {
        return;
      }
      row = await this.#sessions.find(session.id, session.account_id);
    }
    throw new AppError('service_unavailable', 'Another request is checking this payment; retry in a moment.');
  }

  /** Returns false when someone else booked a list of this payment meanwhile: ours may be older than theirs. */
  async #book(session: CheckoutSessionRow, paymentId: string): Promise<boolean> {
    const provider = this.#provider.name;
    const reversals = await this.#provider.reversalsOf(paymentId);
    // what is left out stays as it was booked before
    const known = reversals.filter((reversal) => isKnownIn(session.currency, reversal));
    const { outcome, unbooked } = await this.#movements.followPayment({
      accountId: session.account_id,
      purchaseReference: session.id,
      seen: session.reversals_seen,
      provider,
      object: publicId('checkoutSession', session.id),
      reversals: known.map(({ id, kind, amount }) => ({
        id,
        kind,
        amount,
        // the references under which earlier releases booked it
        taken: namedUuid(`${provider}/${id}/taken`),
        reinstated: namedUuid(`${provider}/${id}/reinstated`),
      })),
    });
    if (unbooked > 0n) {
      this.#log.error(
        {
          session: publicId('checkoutSession', session.id),
          payment: paymentId,
          unbooked: formatUsd(unbooked),
        },
        'the provider took back more of a payment than was paid: the excess is not booked',
      );
    }
    if (outcome !== 'followed') {
      return false;
    }
    requireAmounts(session, reversals);
    return true;
  }
}

/** Cents of one currency booked as those of another would be wrong money. */
function isKnownIn(paid: string, { amount, currency }: PaymentReversal): boolean {
  return amount === 0n || currency === paid;
}

function requireAmounts(session: CheckoutSessionRow, reversals: readonly PaymentReversal[]): void {
  const other = reversals.find((reversal) => !isKnownIn(session.currency, reversal));
  if (other) {
    throw new PaymentMismatch(
      `the ${other.kind} ${other.id} is in ${other.currency}, the payment in ${session.currency}: book it with tollgate adjust`,
    );
  }
}

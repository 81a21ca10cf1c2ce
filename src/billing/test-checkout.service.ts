import type { Movements } from '../ledger/movements.ts';
import { AppError } from '../lib/errors.ts';
import { publicId } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import type { CheckoutSessionRow } from '../store/models/checkout-session.model.ts';
import type { CheckoutService } from './checkout.service.ts';

/** The buttons of the test provider's payment page. */
export class TestCheckoutService {
  readonly #checkout: CheckoutService;
  readonly #movements: Movements;
  readonly #log: Logger;

  constructor(checkout: CheckoutService, movements: Movements, log: Logger) {
    this.#checkout = checkout;
    this.#movements = movements;
    this.#log = log;
  }

  /** Returns a session of the test provider. Throws AppError checkout_session_not_found for any other. */
  async find(id: string): Promise<CheckoutSessionRow> {
    const row = await this.#checkout.open(id);
    if (row.provider !== 'test') {
      throw new AppError('checkout_session_not_found', 'There is no such checkout session.');
    }
    return row;
  }

  /** Pays an open session; a session that is already paid stays as it is. Returns the session afterwards. */
  async pay(id: string): Promise<CheckoutSessionRow> {
    const row = await this.find(id);
    if (row.status === 'open') {
      await this.#movements.creditCheckout(
        row.account_id,
        row.id,
        `test_${row.id}`,
        'Purchase of credits (test payment)',
      );
      this.#log.warn(
        { session: publicId('checkoutSession', row.id), amount: row.amount },
        'credits were granted by a test payment',
      );
    }
    return this.find(id);
  }
}

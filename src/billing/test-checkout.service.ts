import type { Movements } from '../ledger/movements.ts';
import { AppError } from '../lib/errors.ts';
import type { CheckoutSessionRow } from '../store/models/checkout-session.model.ts';
import type { CheckoutService } from './checkout.service.ts';

/** The buttons of the test provider's payment page. */
export class TestCheckoutService {
  readonly #checkout: CheckoutService;
  readonly #movements: Movements;

  constructor(checkout: CheckoutService, movements: Movements) {
    this.#checkout = checkout;
    this.#movements = movements;
  }

  /** A session of the test provider. Throws AppError checkout_session_not_found for any other. */
  async find(id: string): Promise<CheckoutSessionRow> {
    const row = await this.#checkout.open(id);
    if (row.provider !== 'test') {
      throw new AppError('checkout_session_not_found', 'There is no such checkout session.');
    }
    return row;
  }

  /** Pays an open session; a session that is paid already stays as it is. Returns it as it is then. */
  async pay(id: string): Promise<CheckoutSessionRow> {
    const row = await this.find(id);
    if (row.status === 'open') {
      await this.#movements.creditCheckout(row.id, `test_${row.id}`, 'Purchase of credits (test payment)');
    }
    return this.find(id);
  }
}

import type { WhereOptions } from 'sequelize';
import { invariant } from '../lib/errors.ts';
import type { NanoUsd } from '../lib/money.ts';
import { type Cells, inAll } from '../store/cells.ts';
import { type CheckoutSessionRow, checkoutSessionModel } from '../store/models/checkout-session.model.ts';
import { run } from '../store/statement.ts';
import {
  expireCheckoutSessions,
  insertCheckoutSession,
  moveCheckoutSession,
  staleCheckoutSessions,
} from './checkout.sql.ts';
import type { CheckoutStatus, PaymentStatus } from './payment/payment.types.ts';

export interface NewCheckoutSession {
  readonly id: string;
  readonly accountId: string;
  readonly amount: NanoUsd;
  readonly currency: string;
  readonly provider: string;
  readonly successUrl: string;
  readonly cancelUrl: string;
  readonly expiresAt: Date;
}

/** A session that waits for news from the provider. */
export interface StaleSession {
  readonly id: string;
  /** Whether its account was erased since: nobody can spend what would still be paid. */
  readonly isErased: boolean;
}

/** Checkout sessions. The ledger marks them as paid when it credits them (`Movements.creditCheckout`). */
export class CheckoutStore {
  readonly #cells: Cells;

  constructor(cells: Cells) {
    this.#cells = cells;
  }

  /**
   * Stores a session before the provider learns of it, so that nobody can pay for a session we don't know. Returns the row with that
   * id, which may have existed before.
   */
  async insert(session: NewCheckoutSession): Promise<CheckoutSessionRow> {
    const { id, accountId, amount, currency, provider, successUrl, cancelUrl, expiresAt } = session;
    const values = [id, accountId, amount.toString(), currency, provider, successUrl, cancelUrl, expiresAt];
    const [row] = await run<CheckoutSessionRow>(
      this.#cells.of(accountId).money,
      insertCheckoutSession,
      values,
    );
    invariant(row?.account_id === accountId, 'a checkout session belongs to who opened it');
    return row;
  }

  async attach(
    { id, account_id: accountId }: CheckoutSessionRow,
    providerSessionId: string,
    url: string,
  ): Promise<void> {
    const { sequelize } = this.#cells.of(accountId);
    await checkoutSessionModel(sequelize).update(
      { provider_session_id: providerSessionId, url },
      { where: { id } },
    );
  }

  /** Finds a session. `accountId` null: of any account. */
  async find(id: string, accountId: string | null): Promise<CheckoutSessionRow | undefined> {
    const where = accountId === null ? { id } : { id, account_id: accountId };
    const cell = accountId === null ? this.#cells.ofOwned(id) : this.#cells.of(accountId);
    return (await checkoutSessionModel(cell.sequelize).findOne({ where }))?.get({ plain: true });
  }

  async findByProviderSession(provider: string, id: string): Promise<CheckoutSessionRow | undefined> {
    return this.#findBy({ provider, provider_session_id: id });
  }

  async findByPayment(provider: string, paymentId: string): Promise<CheckoutSessionRow | undefined> {
    return this.#findBy({ provider, payment_id: paymentId });
  }

  async move(
    { id, account_id: accountId }: CheckoutSessionRow,
    status: CheckoutStatus,
    paymentStatus: PaymentStatus,
  ): Promise<void> {
    await run(this.#cells.of(accountId).money, moveCheckoutSession, [id, status, paymentStatus]);
  }

  /** Expires overdue sessions that no provider knows. Returns how many. */
  async expire(): Promise<number> {
    return (await inAll(this.#cells, ({ money }) => run(money, expireCheckoutSessions, []))).length;
  }

  async stale(provider: string, limit: number): Promise<StaleSession[]> {
    const rows = await inAll(this.#cells, ({ money }) =>
      run<{ id: string; is_erased: boolean }>(money, staleCheckoutSessions, [provider, limit]),
    );
    return rows.map((row) => ({ id: row.id, isErased: row.is_erased }));
  }

  /** Searches all cells, because provider ids name no cell. Each is unique in its cell, and a provider gives it to one session. */
  async #findBy(where: WhereOptions<CheckoutSessionRow>): Promise<CheckoutSessionRow | undefined> {
    const found = await inAll(this.#cells, ({ sequelize }) =>
      checkoutSessionModel(sequelize).findAll({ where, limit: 1 }),
    );
    return found[0]?.get({ plain: true });
  }
}

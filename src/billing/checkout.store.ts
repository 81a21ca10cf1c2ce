import type pg from 'pg';
import type { Sequelize } from 'sequelize';
import { invariant } from '../lib/invariant.ts';
import type { NanoUsd } from '../lib/money.ts';
import {
  type CheckoutSessionModel,
  type CheckoutSessionRow,
  checkoutSessionModel,
} from '../store/models/checkout-session.model.ts';
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

/** Checkout sessions. The ledger marks them as paid when it credits them (`Movements.creditCheckout`). */
export class CheckoutStore {
  readonly #model: CheckoutSessionModel;
  readonly #pool: pg.Pool;

  constructor(sequelize: Sequelize, pool: pg.Pool) {
    this.#model = checkoutSessionModel(sequelize);
    this.#pool = pool;
  }

  /**
   * Stores a session before the provider is told of it, so that no payment can be made for one we don't know. Returns the row of that
   * id, which may have been there before.
   */
  async insert(session: NewCheckoutSession): Promise<CheckoutSessionRow> {
    const { id, accountId, amount, currency, provider, successUrl, cancelUrl, expiresAt } = session;
    const values = [id, accountId, amount.toString(), currency, provider, successUrl, cancelUrl, expiresAt];
    const [row] = await run<CheckoutSessionRow>(this.#pool, insertCheckoutSession, values);
    invariant(row?.account_id === accountId, 'a checkout session belongs to who opened it');
    return row;
  }

  async attach(id: string, providerSessionId: string, url: string): Promise<void> {
    await this.#model.update({ provider_session_id: providerSessionId, url }, { where: { id } });
  }

  /** `accountId` null: of any account. */
  async find(id: string, accountId: string | null): Promise<CheckoutSessionRow | undefined> {
    const where = accountId === null ? { id } : { id, account_id: accountId };
    return (await this.#model.findOne({ where }))?.get({ plain: true });
  }

  async findByProviderSession(provider: string, id: string): Promise<CheckoutSessionRow | undefined> {
    return (await this.#model.findOne({ where: { provider, provider_session_id: id } }))?.get({
      plain: true,
    });
  }

  async findByPayment(provider: string, paymentId: string): Promise<CheckoutSessionRow | undefined> {
    return (await this.#model.findOne({ where: { provider, payment_id: paymentId } }))?.get({ plain: true });
  }

  async move(id: string, status: CheckoutStatus, paymentStatus: PaymentStatus): Promise<void> {
    await run(this.#pool, moveCheckoutSession, [id, status, paymentStatus]);
  }

  /** Ends sessions whose time is over and that no provider knows. Returns how many. */
  async expire(): Promise<number> {
    return (await run(this.#pool, expireCheckoutSessions, [])).length;
  }

  async stale(provider: string, limit: number): Promise<string[]> {
    const rows = await run<{ id: string }>(this.#pool, staleCheckoutSessions, [provider, limit]);
    return rows.map((row) => row.id);
  }
}

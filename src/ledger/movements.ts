import type pg from 'pg';
import { AppError, invariant } from '../lib/errors.ts';
import { formatUsd, type NanoUsd, nanoUsd } from '../lib/money.ts';
import type { StoredRateLimits } from '../store/models/api-key.model.ts';
import { jsonParameter, run } from '../store/statement.ts';
import {
  adjustBalance,
  changeAccount,
  changeApiKey,
  clearDebt,
  creditCheckoutSession,
  eraseAccount,
  followPayment,
  openAccount,
  openCustomer,
  refundCharge,
  reinstatePayment,
  reversePayment,
} from './ledger.sql.ts';
import type { AuditedAct, BookingAct, NewOwnerKey } from './ledger.types.ts';
import { posted } from './movement-outcome.ts';

/** A movement of money other than usage. Booking the same reference again changes nothing. */
export interface Movement {
  readonly accountId: string;
  /** UUID of what the entry represents: a checkout session, a refund, an adjustment. */
  readonly reference: string;
  readonly description: string;
  /** Who books it; absent for the service itself. */
  readonly act?: BookingAct;
}

/** The result of a movement. `exists`: it was booked before, and nothing was written. */
export interface Booked {
  readonly outcome: 'posted' | 'exists';
  /** Nano-USD. */
  readonly amount: NanoUsd;
}

/** A refund or dispute as the provider reports it, with the references under which earlier releases booked it. */
export interface StandingReversal {
  /** The provider's id. */
  readonly id: string;
  readonly kind: 'refund' | 'dispute';
  /** Nano-USD it takes back from the payment now. */
  readonly amount: NanoUsd;
  readonly taken: string;
  readonly reinstated: string;
}

/** All refunds and disputes of one payment. */
export interface PaymentStanding {
  readonly accountId: string;
  readonly purchaseReference: string;
  /** `reversals_seen` of the checkout session, as read before the provider was queried. */
  readonly seen: string;
  readonly provider: string;
  /** Public id of the checkout session, for the audit log. */
  readonly object: string;
  readonly reversals: readonly StandingReversal[];
}

export interface KeyChanges {
  readonly name?: string;
  readonly label?: string;
  readonly disabled?: boolean;
  /** Nano-USD; null for unlimited. */
  readonly limit?: NanoUsd | null;
  readonly limitReset?: 'daily' | 'weekly' | 'monthly' | null;
  readonly expiresAt?: Date | null;
  readonly allowedModels?: readonly string[] | null;
  readonly rateLimits?: StoredRateLimits | null;
  readonly deleted?: true;
}

export interface AccountChanges {
  readonly name?: string;
  readonly suspended?: boolean;
  readonly allowedModels?: readonly string[] | null;
  readonly maxKeys?: number;
  /** How documents name the customer, as JSON; null for the account's name only. */
  readonly billing?: object | null;
  readonly rateLimits?: StoredRateLimits | null;
}

/** Finds an account's rows: returns its cell's pool, or the connection of a transaction there. */
type ClientOf = (accountId: string) => pg.Pool | pg.PoolClient;

/**
 * Everything besides calls that moves or guards money, each as one statement under the account's lock. What is committed
 * here applies to the very next admission on every replica.
 */
export class Movements {
  readonly #clientOf: ClientOf;

  constructor(clientOf: ClientOf) {
    this.#clientOf = clientOf;
  }

  /**
   * Opens an account with its owner key and, if above 0, its first credits (nano-USD): all or nothing. Returns false,
   * writing nothing, when the account exists.
   */
  async openCustomer(
    accountId: string,
    name: string,
    credits: NanoUsd,
    key: NewOwnerKey,
    act: BookingAct,
  ): Promise<boolean> {
    const values = [accountId, name, credits.toString(), jsonParameter(key), jsonParameter(act)];
    const [row] = await run<{ opened: boolean }>(this.#clientOf(accountId), openCustomer, values);
    return row?.opened ?? false;
  }

  /** Creates an account with an empty balance. */
  async openAccount(accountId: string, name: string): Promise<void> {
    await run(this.#clientOf(accountId), openAccount, [accountId, name]);
  }

  /**
   * Marks a checkout session (UUID) of the account as paid and credits its amount; a debt is repaid from it first. One statement, so a paid
   * session without its credits cannot exist. Returns false when it was credited before. Throws AppError account_not_found.
   */
  async creditCheckout(
    accountId: string,
    sessionId: string,
    paymentId: string,
    description: string,
  ): Promise<boolean> {
    const values = [sessionId, paymentId, description];
    const [row] = await run<{ outcome: string }>(this.#clientOf(accountId), creditCheckoutSession, values);
    return row !== undefined && posted(row.outcome) === 'posted';
  }

  /** Books an operator's signed correction, in nano-USD. Throws AppError account_not_found, insufficient_credits. */
  async adjust(movement: Movement, amount: NanoUsd): Promise<'posted' | 'exists'> {
    const { accountId, reference, description } = movement;
    const values = [accountId, reference, amount.toString(), description, actOf(movement)];
    const [row] = await run<{ outcome: string }>(this.#clientOf(accountId), adjustBalance, values);
    return posted(row?.outcome);
  }

  /**
   * Refunds a charge or a part of it (undefined: what is left of it).
   * Throws AppError transaction_not_found, invalid_parameter when it would exceed the charge, idempotency_key_reused.
   */
  async refundCharge(movement: Movement, generationId: string, amount?: NanoUsd): Promise<Booked> {
    const { accountId, reference, description } = movement;
    const values = [
      accountId,
      reference,
      generationId,
      amount?.toString() ?? null,
      description,
      actOf(movement),
    ];
    const [row] = await run<{ outcome: string; refunded: string | null }>(
      this.#clientOf(accountId),
      refundCharge,
      values,
    );
    return { outcome: posted(row?.outcome), amount: nanoUsd(row?.refunded ?? '0') };
  }

  /**
   * Clears a debt or a part of it (undefined: all): written off, or paid outside the checkout. Throws AppError account_not_found,
   * invalid_parameter when less than that is owed, idempotency_key_reused.
   */
  async clearDebt(movement: Movement, kind: 'forgiven' | 'paid', amount?: NanoUsd): Promise<Booked> {
    const { accountId, reference, description } = movement;
    const values = [accountId, reference, amount?.toString() ?? null, kind, description, actOf(movement)];
    const [row] = await run<{ outcome: string; amount: string | null }>(
      this.#clientOf(accountId),
      clearDebt,
      values,
    );
    if (row?.outcome === 'exceeds_debt') {
      throw new AppError(
        'invalid_parameter',
        `amount: the account owes ${formatUsd(nanoUsd(row.amount ?? '0'))} USD.`,
      );
    }
    return { outcome: posted(row?.outcome), amount: nanoUsd(row?.amount ?? '0') };
  }

  /** Reverses a purchase or a part of it. What the balance cannot cover becomes a debt that blocks new holds. */
  reversePayment(
    movement: Movement,
    purchaseReference: string,
    amount: NanoUsd,
  ): Promise<'posted' | 'exists'> {
    return this.#movePayment(reversePayment, movement, purchaseReference, amount);
  }

  /**
   * Gives back nano-USD that a reversal of a purchase took: a debt is repaid first, the rest is credited. Throws AppError
   * transaction_not_found, invalid_parameter when it would exceed what was reversed.
   */
  reinstatePayment(
    movement: Movement,
    purchaseReference: string,
    amount: NanoUsd,
  ): Promise<'posted' | 'exists'> {
    return this.#movePayment(reinstatePayment, movement, purchaseReference, amount);
  }

  /**
   * Books the difference between what the provider has taken back of a payment and what is booked of it, together with the rows in the
   * audit log. `stale`: another list was booked since `seen`, and nothing is written. `unbooked` (nano-USD): what exceeds the purchase.
   */
  async followPayment(
    standing: PaymentStanding,
  ): Promise<{ readonly outcome: 'followed' | 'stale'; readonly unbooked: NanoUsd }> {
    const { accountId, purchaseReference, seen, provider, object, reversals } = standing;
    const list = jsonParameter(
      reversals.map((reversal) => ({ ...reversal, amount: reversal.amount.toString() })),
    );
    const values = [accountId, purchaseReference, seen, list, provider, object];
    const [row] = await run<{ outcome: 'followed' | 'stale'; unbooked_nano: string }>(
      this.#clientOf(accountId),
      followPayment,
      values,
    );
    invariant(row, 'following a payment has an outcome');
    return { outcome: row.outcome, unbooked: nanoUsd(row.unbooked_nano) };
  }

  /** Changes an account. Returns the row after the change, or undefined when there is no such account. */
  async changeAccount<Row extends pg.QueryResultRow>(
    id: string,
    changes: AccountChanges,
    act?: AuditedAct,
  ): Promise<Row | undefined> {
    const { allowedModels, maxKeys, rateLimits, ...others } = changes;
    const renamed = { allowed_models: allowedModels, max_keys: maxKeys, rate_limits: rateLimits };
    const json = jsonParameter({ ...others, ...renamed });
    return (await run<Row>(this.#clientOf(id), changeAccount, [id, json, jsonParameter(act ?? {})]))[0];
  }

  /** Closes an account and erases whatever identifies its owner; its books stay. Returns false when there is no such account. */
  async eraseAccount(id: string, act: AuditedAct): Promise<boolean> {
    const [row] = await run<{ erased: boolean }>(this.#clientOf(id), eraseAccount, [id, jsonParameter(act)]);
    return row?.erased ?? false;
  }

  /** Changes or deletes a key. Returns the row after the change, or undefined when the key is gone or belongs to another account. */
  async changeKey<Row extends pg.QueryResultRow>(
    accountId: string,
    keyId: string,
    changes: KeyChanges,
    act?: AuditedAct,
  ): Promise<Row | undefined> {
    const { limit, limitReset, expiresAt, allowedModels, rateLimits, ...others } = changes;
    const limits = { limit_nano: limit?.toString() ?? limit, limit_reset: limitReset };
    const renamed = { expires_at: expiresAt, allowed_models: allowedModels, rate_limits: rateLimits };
    const json = jsonParameter({ ...others, ...limits, ...renamed });
    const values = [accountId, keyId, json, jsonParameter(act ?? {})];
    return (await run<Row>(this.#clientOf(accountId), changeApiKey, values))[0];
  }

  async #movePayment(
    statement: typeof reversePayment,
    movement: Movement,
    purchaseReference: string,
    amount: NanoUsd,
  ): Promise<'posted' | 'exists'> {
    const { accountId, reference, description } = movement;
    const values = [accountId, reference, purchaseReference, amount.toString(), description, actOf(movement)];
    const [row] = await run<{ outcome: string }>(this.#clientOf(accountId), statement, values);
    return posted(row?.outcome);
  }
}

function actOf(movement: Movement): string {
  return jsonParameter(movement.act ?? {});
}

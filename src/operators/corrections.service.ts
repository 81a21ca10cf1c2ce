import { parseTransactionId, transactionId } from '../billing/transaction-id.ts';
import type { BookingAct } from '../ledger/ledger.types.ts';
import type { Booked, Movement, Movements } from '../ledger/movements.ts';
import { AppError } from '../lib/errors.ts';
import { parsePublicId } from '../lib/ids.ts';
import { formatUsd, type NanoUsd } from '../lib/money.ts';
import type { AccountRow, AccountsReadModel } from './accounts.read-model.ts';
import { accountUuid } from './accounts.service.ts';
import type { BookingReferences } from './booking-references.store.ts';
import type { CorrectionsStore } from './corrections.store.ts';
import { audited, type OperatorContext } from './operator-access.ts';
import type { AdjustmentBody, ClearDebtBody, RefundBody } from './operators.schema.ts';

export interface CorrectionCall extends OperatorContext {
  /** Public id of the account. */
  readonly account: string;
  readonly idempotencyKey: string | undefined;
  /** Dry run: validates, writes nothing. */
  readonly isDryRun: boolean;
}

/** A booking, and whether it repeats an earlier one, in which case nothing was written. */
export interface BookingResult {
  readonly transactionId: string;
  readonly amount: NanoUsd;
  readonly replayed: boolean;
  /** For a purchase that was taken back: the part that the balance could not cover. */
  readonly debt: NanoUsd;
  /** The account after the booking. */
  readonly row: AccountRow;
}

/**
 * Credits that an operator gives or takes. Every booking is a new ledger entry, written atomically with its audit log entry. With
 * `isDryRun` it is booked and rolled back: it is rejected for the same reasons, but nothing is written.
 */
export class CorrectionsService {
  readonly #store: CorrectionsStore;
  readonly #readModel: Pick<AccountsReadModel, 'purchaseProvider'>;
  readonly #references: BookingReferences;

  constructor(
    store: CorrectionsStore,
    readModel: Pick<AccountsReadModel, 'purchaseProvider'>,
    references: BookingReferences,
  ) {
    this.#store = store;
    this.#readModel = readModel;
    this.#references = references;
  }

  /** Books a signed correction. Throws AppError account_not_found, insufficient_credits, idempotency_key_reused. */
  async adjust(call: CorrectionCall, body: AdjustmentBody): Promise<BookingResult> {
    const { amount, description, reason } = body;
    const act = {
      ...audited(call, 'account.adjust', call.account, { amount: formatUsd(amount), description, reason }),
      reason,
    };
    const movement = await this.#toMovement(call, description, act);
    return await this.#book(call, 'adjustment', movement, async (movements) => ({
      outcome: await movements.adjust(movement, amount),
      amount,
    }));
  }

  /**
   * Refunds a charge, or takes back a purchase whose money was returned. Throws AppError account_not_found,
   * transaction_not_found, invalid_parameter (more than is left; a purchase that the provider refunds itself),
   * idempotency_key_reused.
   */
  async refund(call: CorrectionCall, body: RefundBody): Promise<BookingResult> {
    const { type, reference } = refundTarget(body);
    const detail = { refunds: transactionId({ type, reference }), description: body.description };
    const act = audited(call, 'account.refund', call.account, detail);
    const movement = await this.#toMovement(call, body.description, act);
    if (type === 'usage_charge') {
      const refund = (movements: Movements) => movements.refundCharge(movement, reference, body.amount);
      return await this.#book(call, 'refund', movement, refund);
    }
    const amount = await this.#requireRefundable(movement.accountId, reference, body.amount);
    return await this.#book(call, 'refund', movement, async (movements) => ({
      outcome: await movements.reversePayment(movement, reference, amount),
      amount,
    }));
  }

  /** Forgives a debt, or books that it was paid outside the checkout. Throws as `Movements.clearDebt`. */
  async clearDebt(call: CorrectionCall, body: ClearDebtBody): Promise<BookingResult> {
    const { kind, amount, description } = body;
    const action = kind === 'forgiven' ? 'debt.forgive' : 'debt.pay';
    const act = audited(call, action, call.account, { description });
    const movement = await this.#toMovement(call, description, act);
    return await this.#book(call, 'adjustment', movement, (movements) =>
      movements.clearDebt(movement, kind, amount),
    );
  }

  async #toMovement(call: CorrectionCall, description: string, act: BookingAct): Promise<Movement> {
    const accountId = accountUuid(call.account);
    const reference = await this.#references.of(accountId, call.idempotencyKey);
    return { accountId, reference, description, act };
  }

  async #book(
    { isDryRun }: CorrectionCall,
    type: 'adjustment' | 'refund',
    movement: Movement,
    book: (movements: Movements) => Promise<Booked>,
  ): Promise<BookingResult> {
    const { outcome, amount, debt, row } = await this.#store.book(movement, isDryRun, book);
    if (!row) {
      throw new AppError('account_not_found', 'There is no such account.');
    }
    const { reference } = movement;
    return {
      transactionId: transactionId({ type, reference }),
      amount,
      replayed: outcome === 'exists',
      debt,
      row,
    };
  }

  /** Returns the amount to take back of a purchase. Throws AppError for a purchase that its provider refunds itself. */
  async #requireRefundable(
    accountId: string,
    purchase: string,
    amount: NanoUsd | undefined,
  ): Promise<NanoUsd> {
    const provider = await this.#readModel.purchaseProvider(accountId, purchase);
    if (provider === undefined) {
      throw new AppError('transaction_not_found', 'There is no such transaction in this account.');
    }
    if (provider !== 'test') {
      throw new AppError(
        'invalid_parameter',
        `transaction_id: refund this purchase at ${provider}; the refund is then booked automatically.`,
      );
    }
    if (amount === undefined) {
      throw new AppError('invalid_parameter', 'amount: is required to take back a purchase.');
    }
    return amount;
  }
}

function refundTarget(body: RefundBody): { type: 'usage_charge' | 'credit_purchase'; reference: string } {
  const generation = body.generation_id && parsePublicId('generation', body.generation_id);
  if (generation) {
    return { type: 'usage_charge', reference: generation };
  }
  const key = body.transaction_id && parseTransactionId(body.transaction_id);
  if (key && (key.type === 'usage_charge' || key.type === 'credit_purchase')) {
    return { type: key.type, reference: key.reference };
  }
  throw new AppError('transaction_not_found', 'There is no such transaction, or it cannot be refunded.');
}

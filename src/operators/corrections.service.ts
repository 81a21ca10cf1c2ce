import { parseTransactionId, transactionId } from '../billing/transaction-id.ts';
import type { BookingAct } from '../ledger/ledger.types.ts';
import type { Booked, Movement, Movements } from '../ledger/movements.ts';
import { AppError } from '../lib/errors.ts';
import { parsePublicId } from '../lib/ids.ts';
import { formatUsd, type NanoUsd, ZERO_USD } from '../lib/money.ts';
import type { AccountRow, AccountsReadModel } from './accounts.read-model.ts';
import { accountUuid } from './accounts.service.ts';
import type { BookingReferences } from './booking-references.store.ts';
import { audited, type OperatorAct } from './operator-access.ts';
import type { AdjustmentBody, ClearDebtBody, RefundBody } from './operators.schema.ts';

export interface CorrectionCall extends OperatorAct {
  /** Public id of the account. */
  readonly account: string;
  readonly idempotencyKey: string | undefined;
}

/** A booking, and whether it is the repetition of an earlier one: then nothing was written. */
export interface BookingResult {
  readonly transactionId: string;
  readonly amount: NanoUsd;
  readonly replayed: boolean;
  /** Of a purchase that was taken back: what the balance could not give. */
  readonly debt: NanoUsd;
}

/** Money that an operator gives or takes. Every booking is a new entry with its row in the audit log, both or neither. */
export class CorrectionsService {
  readonly #movements: Movements;
  readonly #readModel: AccountsReadModel;

  readonly #references: BookingReferences;

  constructor(movements: Movements, readModel: AccountsReadModel, references: BookingReferences) {
    this.#movements = movements;
    this.#readModel = readModel;
    this.#references = references;
  }

  /** Books a signed correction. Throws AppError account_not_found, insufficient_credits, idempotency_key_reused. */
  async adjust(
    call: CorrectionCall,
    body: AdjustmentBody,
  ): Promise<BookingResult & { readonly row: AccountRow }> {
    const { amount, description, reason } = body;
    const act = {
      ...audited(call, 'account.adjust', call.account, { amount: formatUsd(amount), description, reason }),
      reason,
    };
    const movement = await this.#toMovement(call, description, act);
    const outcome = await this.#movements.adjust(movement, amount);
    const row = await this.#readModel.find(movement.accountId);
    if (!row) {
      throw new AppError('account_not_found', 'There is no such account.');
    }
    return { row, ...result('adjustment', movement, { outcome, amount }) };
  }

  /**
   * Gives usage back, or takes back a purchase whose money was returned. Throws AppError account_not_found,
   * transaction_not_found, invalid_parameter (more than is left; a purchase that the provider refunds itself),
   * idempotency_key_reused.
   */
  async refund(call: CorrectionCall, body: RefundBody): Promise<BookingResult> {
    const target = refundTarget(body);
    const detail = { refunds: transactionId(target), description: body.description };
    const movement = await this.#toMovement(
      call,
      body.description,
      audited(call, 'account.refund', call.account, detail),
    );
    if (target.type === 'usage_charge') {
      return result(
        'refund',
        movement,
        await this.#movements.refundCharge(movement, target.reference, body.amount),
      );
    }
    const booked = await this.#takeBack(movement, target.reference, body.amount);
    return {
      ...result('refund', movement, booked),
      debt: await this.#readModel.debtOfReversal(movement.reference),
    };
  }

  /** Forgives a debt or books its payment outside of the checkout. Throws as `Movements.clearDebt`. */
  async clearDebt(call: CorrectionCall, body: ClearDebtBody): Promise<BookingResult> {
    const { kind, amount, description } = body;
    const action = kind === 'forgiven' ? 'debt.forgive' : 'debt.pay';
    const movement = await this.#toMovement(
      call,
      description,
      audited(call, action, call.account, { description }),
    );
    return result('adjustment', movement, await this.#movements.clearDebt(movement, kind, amount));
  }

  async #toMovement(call: CorrectionCall, description: string, act: BookingAct): Promise<Movement> {
    const accountId = accountUuid(call.account);
    const reference = await this.#references.of(accountId, call.idempotencyKey);
    return { accountId, reference, description, act };
  }

  async #takeBack(movement: Movement, purchase: string, amount: NanoUsd | undefined): Promise<Booked> {
    const provider = await this.#readModel.purchaseProvider(movement.accountId, purchase);
    if (provider === undefined) {
      throw new AppError('transaction_not_found', 'There is no such transaction in this account.');
    }
    if (provider !== 'test') {
      throw new AppError(
        'invalid_parameter',
        `transaction_id: refund it at ${provider}; it is booked from there.`,
      );
    }
    if (amount === undefined) {
      throw new AppError('invalid_parameter', 'amount: is required for a purchase.');
    }
    return { outcome: await this.#movements.reversePayment(movement, purchase, amount), amount };
  }
}

function result(
  type: 'adjustment' | 'refund',
  { reference }: Movement,
  { outcome, amount }: Booked,
): BookingResult {
  return {
    transactionId: transactionId({ type, reference }),
    amount,
    replayed: outcome === 'exists',
    debt: ZERO_USD,
  };
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
  throw new AppError('transaction_not_found', 'There is no such transaction that could be refunded.');
}

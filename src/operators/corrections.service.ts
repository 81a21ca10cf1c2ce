import { parseTransactionId, transactionId } from '../billing/transaction-id.ts';
import type { Movement, Movements } from '../ledger/movements.ts';
import { AppError } from '../lib/errors.ts';
import { parsePublicId } from '../lib/ids.ts';
import type { NanoUsd } from '../lib/money.ts';
import type { AccountRow, AccountsReadModel } from './accounts.read-model.ts';
import { accountUuid } from './accounts.service.ts';
import type { AuditStore } from './audit.store.ts';
import type { OperatorAct } from './operator-access.ts';
import type { AdjustmentBody, RefundBody } from './operators.schema.ts';
import { requestReference } from './request-reference.ts';

export interface CorrectionCall extends OperatorAct {
  /** Public id of the account. */
  readonly account: string;
  readonly idempotencyKey: string | undefined;
}

export interface RefundResult {
  readonly transactionId: string;
  readonly amount: NanoUsd;
}

/** Money that an operator gives or takes. Every booking is a new entry; nothing is edited. */
export class CorrectionsService {
  readonly #movements: Movements;
  readonly #readModel: AccountsReadModel;
  readonly #audit: AuditStore;

  constructor(movements: Movements, readModel: AccountsReadModel, audit: AuditStore) {
    this.#movements = movements;
    this.#readModel = readModel;
    this.#audit = audit;
  }

  /** Books a signed correction. Throws AppError account_not_found, insufficient_credits. */
  async adjust(call: CorrectionCall, body: AdjustmentBody): Promise<AccountRow> {
    const movement = toMovement(call, body.description);
    await this.#movements.adjust(movement, body.amount);
    await this.#record('account.adjust', call, {
      amount: body.amount.toString(),
      description: body.description,
    });
    const row = await this.#readModel.find(movement.accountId);
    if (!row) {
      throw new AppError('account_not_found', 'There is no such account.');
    }
    return row;
  }

  /**
   * Gives usage back, or takes back a purchase whose money was returned. Throws AppError account_not_found,
   * transaction_not_found, invalid_parameter (more than is left; a purchase that the provider refunds itself).
   */
  async refund(call: CorrectionCall, body: RefundBody): Promise<RefundResult> {
    const movement = toMovement(call, body.description);
    const target = refundTarget(body);
    const amount =
      target.type === 'usage_charge'
        ? await this.#movements.refundCharge(movement, target.reference, body.amount)
        : await this.#takeBack(movement, target.reference, body.amount);
    await this.#record('account.refund', call, {
      ...target,
      amount: amount.toString(),
      description: body.description,
    });
    return { transactionId: transactionId({ type: 'refund', reference: movement.reference }), amount };
  }

  async #takeBack(movement: Movement, purchase: string, amount: NanoUsd | undefined): Promise<NanoUsd> {
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
    await this.#movements.reversePayment(movement, purchase, amount);
    return amount;
  }

  #record(action: string, call: CorrectionCall, detail: object): Promise<void> {
    return this.#audit.append({
      operator: call.operator,
      requestId: call.requestId,
      action,
      object: call.account,
      detail,
    });
  }
}

function toMovement(call: CorrectionCall, description: string): Movement {
  const accountId = accountUuid(call.account);
  return { accountId, reference: requestReference(accountId, call.idempotencyKey), description };
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

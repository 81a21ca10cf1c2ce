import { CURRENCY } from '../http/input/wire-shapes.ts';
import { publicId } from '../lib/ids.ts';
import { formatUsd, nanoUsd } from '../lib/money.ts';
import { invoiceId } from './invoice-id.ts';
import { type ReasonCode, type TransactionType, transactionId } from './transaction-id.ts';
import type { EntryRow } from './transactions.read-model.ts';
import type { TransactionJson } from './transactions.schema.ts';

const DESCRIPTIONS: Readonly<Record<TransactionType, string>> = {
  credit_purchase: 'Purchase of credits',
  usage_charge: 'Usage',
  refund: 'Refund',
  adjustment: 'Adjustment',
};

export function presentTransaction(row: EntryRow, accountId: string): TransactionJson {
  const money = (amount: string) => ({ value: formatUsd(nanoUsd(amount)), currency: CURRENCY }) as const;
  return {
    id: transactionId(row),
    type: row.type,
    amount: money(row.amount),
    balance_after: money(row.balance_after),
    // the ledger has only final entries
    status: 'settled',
    created_at: row.at.toISOString(),
    description: row.description ?? DESCRIPTIONS[row.type],
    reason_code: reasonOf(row),
    contra: row.contra,
    related_generation_id: relatedGeneration(row),
    related_checkout_session_id: relatedCheckout(row),
    invoice_id: invoiceId(accountId, row.at, row.statement_version ?? 1),
  };
}

function relatedGeneration(row: EntryRow): string | null {
  const uuid = row.type === 'usage_charge' ? row.reference : row.contra === 'revenue' ? row.reverses : null;
  return uuid === null ? null : publicId('generation', uuid);
}

/** Returns the checkout session of a purchase, of its reversal, or of a debt repaid from it. */
function relatedCheckout(row: EntryRow): string | null {
  const isPayment = row.contra === 'cash_clearing' && row.reason_code !== 'bank_payment';
  const session = isPayment
    ? (row.reverses ?? row.reference)
    : row.contra === 'receivable'
      ? row.reverses
      : null;
  return session === null ? null : publicId('checkoutSession', session);
}

/** Entries of earlier releases have no reason code. It follows from the other columns, except for the operator's intention. */
function reasonOf(row: EntryRow): ReasonCode {
  if (row.reason_code !== null) {
    return row.reason_code;
  }
  if (row.type === 'usage_charge') {
    return 'usage';
  }
  if (row.type === 'credit_purchase') {
    return 'purchase';
  }
  if (row.type === 'refund') {
    return row.contra === 'revenue' ? 'usage_refund' : 'payment_refund';
  }
  if (row.contra === 'cash_clearing') {
    return row.reverses === null ? 'debt_repayment' : 'reinstatement';
  }
  return 'correction';
}

import { ulidToUuid, uuidToUlid } from '../lib/ids.ts';

export const TRANSACTION_TYPES = ['credit_purchase', 'usage_charge', 'refund', 'adjustment'] as const;
export type TransactionType = (typeof TRANSACTION_TYPES)[number];

/** The reason for an entry; distinguishes entries of the same type. */
export const REASON_CODES = [
  'usage',
  'purchase',
  'bank_payment',
  'grant',
  'goodwill',
  'correction',
  'usage_refund',
  'payment_refund',
  'dispute',
  'reinstatement',
  'debt',
  'debt_repayment',
  'write_off',
] as const;
export type ReasonCode = (typeof REASON_CODES)[number];

/** The account on the other side of an entry. */
export const CONTRA_ACCOUNTS = ['cash_clearing', 'revenue', 'write_off', 'operator', 'receivable'] as const;
export type ContraAccount = (typeof CONTRA_ACCOUNTS)[number];

/** The ledger's key of an entry: its type and the object it represents. */
export interface EntryKey {
  readonly type: TransactionType;
  readonly reference: string;
}

const LETTERS: Readonly<Record<TransactionType, string>> = {
  credit_purchase: 'P',
  usage_charge: 'U',
  refund: 'R',
  adjustment: 'A',
};

/** Returns the public id of a ledger entry, e.g. `txn_U01JD…`. It is derived from the key, so it needs no column and no index. */
export function transactionId(key: EntryKey): string {
  return `txn_${LETTERS[key.type]}${uuidToUlid(key.reference)}`;
}

/** Returns the key behind a public id, or undefined for text that is not one. */
export function parseTransactionId(text: string): EntryKey | undefined {
  const type = TRANSACTION_TYPES.find((candidate) => text.startsWith(`txn_${LETTERS[candidate]}`));
  const reference = type && ulidToUuid(text.slice('txn_X'.length));
  return type && reference ? { type, reference } : undefined;
}

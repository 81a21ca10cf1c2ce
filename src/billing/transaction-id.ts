import { ulidToUuid, uuidToUlid } from '../lib/ids.ts';

export const TRANSACTION_TYPES = ['credit_purchase', 'usage_charge', 'refund', 'adjustment'] as const;
export type TransactionType = (typeof TRANSACTION_TYPES)[number];

/** Why there is an entry; tells apart what shares a type. */
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

/** What the ledger knows an entry by: its kind and what it stands for. */
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

/** The public id of a ledger entry, e.g. `txn_U01JD…`: made out of its key, so that it needs no column and no index. */
export function transactionId(key: EntryKey): string {
  return `txn_${LETTERS[key.type]}${uuidToUlid(key.reference)}`;
}

/** The key behind a public id; undefined for text that is none. */
export function parseTransactionId(text: string): EntryKey | undefined {
  const type = TRANSACTION_TYPES.find((candidate) => text.startsWith(`txn_${LETTERS[candidate]}`));
  const reference = type && ulidToUuid(text.slice('txn_X'.length));
  return type && reference ? { type, reference } : undefined;
}

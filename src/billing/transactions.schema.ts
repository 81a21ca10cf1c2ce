import { z } from 'zod';
import { pageQuery } from '../http/answers/page.ts';
import { timeParameter } from '../http/input/time-range.ts';
import { answerOf, listOf, moneyJson } from '../http/input/wire-shapes.ts';
import { CONTRA_ACCOUNTS, REASON_CODES, TRANSACTION_TYPES } from './transaction-id.ts';

export const listTransactionsQuery = z.strictObject({
  start_time: timeParameter.optional().meta({ description: 'Inclusive' }),
  end_time: timeParameter.optional().meta({ description: 'Exclusive' }),
  type: z.enum(TRANSACTION_TYPES).optional().meta({ description: 'Only entries of this type' }),
  api_key_hash: z
    .string()
    .min(1)
    .max(128)
    .optional()
    .meta({ description: 'Only charges and refunds of this key' }),
  ...pageQuery,
});

export const transactionParams = z.object({
  transaction_id: z.string().min(1).max(64).meta({ description: 'Id of the entry, txn_…' }),
});

export const transactionJson = z
  .object({
    id: z
      .string()
      .meta({ description: 'Id of the entry, txn_…', examples: ['txn_U01JD0000000000000000000000'] }),
    type: z.enum(TRANSACTION_TYPES).meta({ description: 'Kind of entry' }),
    amount: moneyJson.meta({ description: 'Signed from the point of view of the balance' }),
    balance_after: moneyJson.meta({ description: 'Balance of the account after the entry' }),
    status: z.enum(['pending', 'settled', 'failed']).meta({ description: 'settled: the entry is final' }),
    created_at: z.iso.datetime().meta({ description: 'When the entry was booked' }),
    description: z.string().meta({ description: 'Display name' }),
    reason_code: z
      .enum(REASON_CODES)
      .meta({ description: 'Distinguishes entries of the same type', examples: ['usage'] }),
    contra: z
      .enum(CONTRA_ACCOUNTS)
      .meta({ description: 'The other side of the entry', examples: ['revenue'] }),
    related_generation_id: z
      .string()
      .nullable()
      .meta({ description: 'Generation that the entry charges or refunds; null for other entries' }),
    related_checkout_session_id: z
      .string()
      .nullable()
      .meta({ description: 'Checkout session that the entry credits or reverses; null for other entries' }),
    invoice_id: z.string().meta({ description: 'Statement of the month of the entry' }),
  })
  .meta({ id: 'BalanceTransaction' });

export const transactionListResponse = listOf(transactionJson, 'Entries, newest first');
export const transactionResponse = answerOf(transactionJson, 'The entry');

export type ListTransactionsQuery = z.output<typeof listTransactionsQuery>;
export type TransactionJson = z.output<typeof transactionJson>;

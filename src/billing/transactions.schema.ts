import { z } from 'zod';
import { pageQuery } from '../http/page.ts';
import { timeParameter } from '../http/time-range.ts';
import { moneyJson } from '../http/wire-shapes.ts';
import { CONTRA_ACCOUNTS, REASON_CODES, TRANSACTION_TYPES } from './transaction-id.ts';

export const listTransactionsQuery = z.strictObject({
  start_time: timeParameter.optional().meta({ description: 'Inclusive' }),
  end_time: timeParameter.optional().meta({ description: 'Exclusive' }),
  type: z.enum(TRANSACTION_TYPES).optional(),
  api_key_hash: z
    .string()
    .min(1)
    .max(128)
    .optional()
    .meta({ description: 'Only charges and refunds of this key' }),
  ...pageQuery,
});

export const transactionParams = z.object({ transaction_id: z.string().min(1).max(64) });

export const transactionJson = z
  .object({
    id: z.string().meta({ examples: ['txn_U01JD0000000000000000000000'] }),
    type: z.enum(TRANSACTION_TYPES),
    amount: moneyJson.meta({ description: 'Signed from the point of view of the balance' }),
    balance_after: moneyJson,
    status: z.enum(['pending', 'settled', 'failed']),
    created_at: z.iso.datetime(),
    description: z.string(),
    reason_code: z
      .enum(REASON_CODES)
      .meta({ description: 'Tells apart what shares a type', examples: ['usage'] }),
    contra: z
      .enum(CONTRA_ACCOUNTS)
      .meta({ description: 'The other side of the entry', examples: ['revenue'] }),
    related_generation_id: z.string().nullable(),
    related_checkout_session_id: z.string().nullable(),
    invoice_id: z.string(),
  })
  .meta({ id: 'BalanceTransaction' });

export const transactionListResponse = z.strictObject({
  data: z.array(transactionJson),
  request_id: z.string(),
});
export const transactionResponse = z.strictObject({ data: transactionJson, request_id: z.string() });

export type ListTransactionsQuery = z.output<typeof listTransactionsQuery>;
export type TransactionJson = z.output<typeof transactionJson>;

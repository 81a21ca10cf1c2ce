import { z } from 'zod';
import { pageQuery } from '../http/page.ts';
import { storableText } from '../http/storable-text.ts';
import { CURRENCY, usdString } from '../http/wire-shapes.ts';
import { rateLimits } from '../keys/keys.schema.ts';
import { type NanoUsd, parseUsd } from '../lib/money.ts';

/** Decimal text into nano-USD. */
export const usdAmount = z.string().transform((text, context): NanoUsd => {
  const amount = parseUsd(text);
  if (amount === undefined) {
    context.addIssue({ code: 'custom', message: 'must be a plain decimal string of USD, e.g. "12.50"' });
    return z.NEVER;
  }
  return amount;
});

const positive = usdAmount.refine((amount) => amount > 0n, 'must be above zero');
const description = storableText.trim().min(1).max(500);
const name = storableText.trim().min(1).max(200);

export const createAccountBody = z
  .object({
    name,
    credits: usdAmount.refine((amount) => amount >= 0n, 'must not be negative').optional(),
  })
  .meta({ id: 'CreateAccount' });

const billing = z
  .strictObject({
    name,
    address: z.array(storableText.trim().min(1).max(100)).max(8).default([]),
    tax_id: storableText.trim().min(1).max(50).nullable().default(null),
  })
  .nullable()
  .meta({ description: "What statements and receipts call the customer; null: the account's name alone" });
const accountRateLimits = rateLimits
  .extend({
    queued_tasks: z
      .int()
      .min(1)
      .max(1_000_000)
      .optional()
      .meta({ description: 'Tasks that may wait for one pool' }),
  })
  .nullable()
  .meta({
    description: 'What all keys of the account may do together; null, or a member left out: as configured',
  });

export const updateAccountBody = z
  .object({
    name: name.optional(),
    suspended: z.boolean().optional(),
    allowed_models: z.array(storableText.min(1).max(128)).max(1000).nullable().optional(),
    max_keys: z
      .int()
      .min(1)
      .max(100_000)
      .optional()
      .meta({ description: 'Keys it may have at once; 200 for a new account' }),
    billing: billing.optional(),
    rate_limits: accountRateLimits.optional(),
  })
  .meta({ id: 'UpdateAccount', examples: [{ suspended: true }] });

export const adjustmentBody = z
  .object({
    amount: usdAmount.refine((amount) => amount !== 0n, 'must not be zero'),
    description,
    reason: z
      .enum(['grant', 'goodwill', 'correction'])
      .default('correction')
      .meta({ description: 'What the books call it: the reason_code of the entry' }),
  })
  .meta({ id: 'Adjustment' });

export const clearDebtBody = z
  .object({
    kind: z.enum(['forgiven', 'paid']).meta({ description: 'Written off, or paid outside of the checkout' }),
    amount: positive.optional().meta({ description: 'Default: all of it' }),
    description,
  })
  .meta({ id: 'ClearDebt' });

export const refundBody = z
  .object({
    transaction_id: z.string().min(1).max(64).optional(),
    generation_id: z.string().min(1).max(64).optional(),
    amount: positive.optional().meta({ description: 'Default: what is left of the transaction' }),
    description,
  })
  .refine((body) => (body.transaction_id === undefined) !== (body.generation_id === undefined), {
    path: ['transaction_id'],
    message: 'give either transaction_id or generation_id',
  })
  .meta({ id: 'Refund' });

export const accountParams = z.object({ id: z.string().min(1).max(64) });
export const listAccountsQuery = z.strictObject(pageQuery);
export const verifyQuery = z.strictObject({ account_id: z.string().min(1).max(64).optional() });

export const accountJson = z
  .object({
    id: z.string(),
    name: z.string(),
    suspended: z.boolean(),
    allowed_models: z.array(z.string()).nullable(),
    max_keys: z.int().meta({ description: 'Keys it may have at once' }),
    billing: z
      .object({ name: z.string(), address: z.array(z.string()), tax_id: z.string().nullable() })
      .nullable()
      .meta({ description: 'What statements and receipts call the customer' }),
    rate_limits: accountRateLimits,
    created_at: z.iso.datetime(),
    total_credits: usdString,
    total_usage: usdString,
    remaining_credits: usdString,
    held: usdString.meta({ description: 'Held by running calls, part of remaining_credits' }),
    debt: usdString.meta({ description: 'Owed after a reversed payment; blocks new calls' }),
    currency: z.literal(CURRENCY),
  })
  .meta({ id: 'Account' });

const requestId = z.string();
export const accountResponse = z.strictObject({ data: accountJson, request_id: requestId });
export const adjustmentResponse = z.strictObject({
  data: accountJson,
  transaction_id: z.string(),
  request_id: requestId,
});
export const accountListResponse = z.strictObject({ data: z.array(accountJson), request_id: requestId });
export const createdAccountResponse = z.strictObject({
  data: accountJson,
  key: z.string().meta({ description: 'Owner key of the account; shown this once' }),
  request_id: requestId,
});
export const refundResponse = z.strictObject({
  data: z.object({
    transaction_id: z.string(),
    amount: usdString,
    from_balance: usdString,
    debt: usdString.meta({ description: 'Of a purchase taken back: what the balance could not give' }),
    currency: z.literal(CURRENCY),
  }),
  request_id: requestId,
});
export const verifyResponse = z.strictObject({
  data: z.object({
    ok: z.boolean(),
    checked: z.int(),
    violations: z.array(z.object({ claim: z.string(), object: z.string(), detail: z.string() })),
    duration_ms: z.int(),
  }),
  request_id: requestId,
});

export type CreateAccountBody = z.output<typeof createAccountBody>;
export type UpdateAccountBody = z.output<typeof updateAccountBody>;
export type AdjustmentBody = z.output<typeof adjustmentBody>;
export type ClearDebtBody = z.output<typeof clearDebtBody>;
export type RefundBody = z.output<typeof refundBody>;
export type AccountJson = z.output<typeof accountJson>;

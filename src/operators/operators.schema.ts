import { z } from 'zod';
import { pageQuery } from '../http/answers/page.ts';
import {
  accountId,
  answerOf,
  currencyJson,
  listOf,
  storableText,
  usdString,
} from '../http/input/wire-shapes.ts';
import { rateLimits } from '../keys/keys.schema.ts';
import { NANO_USD_PER_USD, type NanoUsd, parseUsd } from '../lib/money.ts';

/** Most that one entry books, either way, in USD: as for keys. A slip of the keyboard must not fill the books to their limit. */
const BOOKED_MAX_USD = 10_000_000n;
const BOOKED_MAX = BOOKED_MAX_USD * NANO_USD_PER_USD;

/** Parses decimal text into nano-USD. */
export const usdAmount = z.string().transform((text, context): NanoUsd => {
  const amount = parseUsd(text);
  if (amount === undefined) {
    context.addIssue({ code: 'custom', message: 'must be a plain decimal string of USD, e.g. "12.50"' });
    return z.NEVER;
  }
  if (amount > BOOKED_MAX || amount < -BOOKED_MAX) {
    context.addIssue({ code: 'custom', message: `must be at most ${BOOKED_MAX_USD} USD` });
    return z.NEVER;
  }
  return amount;
});

const positive = usdAmount.refine((amount) => amount > 0n, 'must be above zero');
const description = storableText
  .trim()
  .min(1)
  .max(500)
  .meta({ description: 'Reason; the customer sees it on the entry and the statement' });
const name = storableText.trim().min(1).max(200).meta({ description: 'Display name of the customer' });

export const createAccountBody = z
  .object({
    name,
    credits: usdAmount
      .refine((amount) => amount >= 0n, 'must not be negative')
      .optional()
      .meta({ description: 'Opening credits, USD; none by default' }),
  })
  .meta({ id: 'CreateAccount' });

const billing = z
  .strictObject({
    name: name.meta({ description: 'Name of the customer on statements and receipts' }),
    address: z
      .array(storableText.trim().min(1).max(100))
      .max(8)
      .default([])
      .meta({ description: 'Address lines' }),
    tax_id: storableText
      .trim()
      .min(1)
      .max(50)
      .nullable()
      .default(null)
      .meta({ description: 'Tax number of the customer; null if none' }),
  })
  .nullable()
  .meta({
    description: "Customer details on statements and receipts; null: only the account's name is shown",
  });
const accountRateLimits = rateLimits
  .extend({
    queued_tasks: z
      .int()
      .min(1)
      .max(1_000_000)
      .optional()
      .meta({ description: 'Maximum queued tasks per pool' }),
  })
  .nullable()
  .meta({
    description:
      'Limits shared by all keys of the account; null or an omitted field means the configured default',
  });

export const updateAccountBody = z
  .object({
    name: name.optional(),
    suspended: z.boolean().optional().meta({
      description:
        'true: its keys can only read, and paid calls are rejected with 403; false: ends the suspension',
    }),
    allowed_models: z
      .array(storableText.min(1).max(128))
      .max(1000)
      .nullable()
      .optional()
      .meta({ description: 'Ids of the models it may call; null: all' }),
    max_keys: z
      .int()
      .min(1)
      .max(100_000)
      .optional()
      .meta({ description: 'Maximum number of keys; 200 for a new account' }),
    billing: billing.optional(),
    rate_limits: accountRateLimits.optional(),
  })
  .meta({ id: 'UpdateAccount', examples: [{ suspended: true }] });

export const adjustmentBody = z
  .object({
    amount: usdAmount
      .refine((amount) => amount !== 0n, 'must not be zero')
      .meta({
        description: 'Signed change of the balance, USD; the balance cannot fall below what is held',
      }),
    description,
    reason: z
      .enum(['grant', 'goodwill', 'correction'])
      .default('correction')
      .meta({ description: 'How it is booked: the reason_code of the ledger entry' }),
  })
  .meta({ id: 'Adjustment' });

export const clearDebtBody = z
  .object({
    kind: z
      .enum(['forgiven', 'paid'])
      .meta({ description: 'forgiven: written off; paid: paid outside the checkout' }),
    amount: positive.optional().meta({ description: 'Default: the whole debt' }),
    description,
  })
  .meta({ id: 'ClearDebt' });

export const refundBody = z
  .object({
    transaction_id: z
      .string()
      .min(1)
      .max(64)
      .optional()
      .meta({ description: 'Charge to refund or purchase to take back, txn_…; or name a generation' }),
    generation_id: z
      .string()
      .min(1)
      .max(64)
      .optional()
      .meta({ description: 'Generation whose charge is refunded, gen-…; or name a transaction' }),
    amount: positive.optional().meta({
      description: 'Default: what remains of a charge; required to take back a purchase',
    }),
    description,
  })
  .refine((body) => (body.transaction_id === undefined) !== (body.generation_id === undefined), {
    path: ['transaction_id'],
    message: 'specify either transaction_id or generation_id',
  })
  .meta({ id: 'Refund' });

export const dryRunQuery = z.strictObject({
  dry_run: z
    .enum(['true', 'false'])
    .default('false')
    .meta({ description: 'true: validates and responds like a real booking, but books nothing' }),
});

const bookedAs = z.string().nullable().meta({ description: 'Id of the entry, txn_…; null for a dry run' });
const dryRun = z
  .boolean()
  .meta({ description: 'Whether this was a dry run that booked nothing', examples: [false] });

export const accountParams = z.object({
  id: z.string().min(1).max(64).meta({ description: 'Id of the account, acc_…' }),
});
export const listAccountsQuery = z.strictObject({
  q: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .meta({ description: 'Only accounts whose name contains this text' }),
  suspended: z
    .enum(['true', 'false'])
    .optional()
    .meta({ description: 'true: only suspended accounts; false: only active ones' }),
  sort: z
    .enum(['created_at', 'remaining_credits', 'usage_30d', 'last_used_at'])
    .default('created_at')
    .meta({ description: 'Sort order: newest or highest first' }),
  ...pageQuery,
});
export type ListAccountsQuery = z.output<typeof listAccountsQuery>;
export const verifyQuery = z.strictObject({
  account_id: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .meta({ description: 'Only this account; default: the whole ledger' }),
});

export const accountJson = z
  .object({
    id: accountId,
    name: z.string().meta({ description: 'Display name of the customer' }),
    suspended: z
      .boolean()
      .meta({ description: 'true: its keys can only read, and paid calls are rejected with 403' }),
    allowed_models: z
      .array(z.string())
      .nullable()
      .meta({ description: 'Ids of the models it may call; null: all' }),
    max_keys: z.int().meta({ description: 'Maximum number of keys' }),
    billing: z
      .object({
        name: z.string().meta({ description: 'Name of the customer on statements and receipts' }),
        address: z.array(z.string()).meta({ description: 'Address lines' }),
        tax_id: z.string().nullable().meta({ description: 'Tax number of the customer; null if none' }),
      })
      .nullable()
      .meta({ description: 'Customer details on statements and receipts' }),
    rate_limits: accountRateLimits,
    created_at: z.iso.datetime().meta({ description: 'When it was opened' }),
    erased_at: z.iso
      .datetime()
      .nullable()
      .meta({ description: 'When it was erased, which closed it for good; null if it was not' }),
    total_credits: usdString.meta({ description: 'Bought or granted so far, USD' }),
    total_usage: usdString.meta({ description: 'Charged so far minus refunds, USD' }),
    remaining_credits: usdString.meta({ description: 'total_credits − total_usage, from settled entries' }),
    held: usdString.meta({ description: 'Held by running calls; included in remaining_credits' }),
    debt: usdString.meta({ description: 'Owed because of a reversed payment; blocks new calls' }),
    usage_24h: usdString.meta({ description: 'Charged in the last 24 hours, accurate to five minutes' }),
    usage_30d: usdString.meta({ description: 'Charged in the last 30 UTC days, including today' }),
    last_used_at: z.iso
      .datetime()
      .nullable()
      .meta({ description: 'When one of its keys was last used; null if never' }),
    currency: currencyJson,
  })
  .meta({ id: 'Account' });

export const accountResponse = answerOf(accountJson, 'The current state of the account');
export const adjustmentResponse = answerOf(accountJson, 'The account after the booking').extend({
  transaction_id: bookedAs,
  dry_run: dryRun,
});
export const accountListResponse = listOf(accountJson, 'Accounts, newest first');
export const createdAccountResponse = answerOf(accountJson, 'The new account').extend({
  key: z.string().meta({ description: 'Owner key of the account; shown only once' }),
});
export const refundResponse = answerOf(
  z.object({
    transaction_id: bookedAs,
    dry_run: dryRun,
    amount: usdString.meta({ description: 'Amount booked, USD' }),
    from_balance: usdString.meta({ description: 'The part that changed the balance, USD' }),
    debt: usdString.meta({
      description: 'For a purchase taken back: the part that the balance could not cover, USD',
    }),
    remaining_credits: usdString.meta({ description: 'The balance after the booking, USD' }),
    currency: currencyJson,
  }),
  'The booking',
);
export const verifyResponse = answerOf(
  z
    .object({
      ok: z.boolean().meta({ description: 'Whether every invariant holds' }),
      checked: z.int().meta({ description: 'How many invariants were checked' }),
      violations: z
        .array(
          z.object({
            claim: z.string().meta({ description: 'The invariant' }),
            object: z.string().meta({ description: 'What violates it: an account, key, generation or day' }),
            detail: z.string().meta({ description: 'What was found there' }),
          }),
        )
        .meta({ description: 'Violations; empty when all invariants hold' }),
      duration_ms: z.int().meta({ description: 'How long the check took' }),
    })
    .meta({ id: 'LedgerProof' }),
  'The result of the check',
);

export type CreateAccountBody = z.output<typeof createAccountBody>;
export type UpdateAccountBody = z.output<typeof updateAccountBody>;
export type AdjustmentBody = z.output<typeof adjustmentBody>;
export type ClearDebtBody = z.output<typeof clearDebtBody>;
export type RefundBody = z.output<typeof refundBody>;
export type AccountJson = z.output<typeof accountJson>;

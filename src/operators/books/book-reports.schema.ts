import { z } from 'zod';
import { pageQuery } from '../../http/answers/page.ts';
import { timeParameter } from '../../http/input/time-range.ts';
import { accountId, answerOf, listOf, modelId, usdString } from '../../http/input/wire-shapes.ts';
import { MARGIN_GROUPS } from './book-reports.read-model.ts';

const instant = timeParameter.meta({ description: 'Only what was booked before this time counts' });
const period = {
  start_time: timeParameter.meta({ description: 'Inclusive' }),
  end_time: timeParameter.meta({ description: 'Exclusive' }),
};

export const instantQuery = z.strictObject({ at: instant });
export const instantPageQuery = z.strictObject({ at: instant, ...pageQuery });
export const periodQuery = z.strictObject(period);
export const marginQuery = z.strictObject({
  ...period,
  granularity: z
    .enum(['all', 'month', 'day'])
    .default('month')
    .meta({ description: 'Length of the periods, in UTC; all: one for the whole range' }),
  group_by: z
    .string()
    .max(100)
    .transform((text) => [...new Set(text.split(',').map((name) => name.trim()))])
    .pipe(z.array(z.enum(MARGIN_GROUPS)))
    .default(['model'])
    .meta({
      type: 'string',
      default: 'model',
      description: `Comma list of ${MARGIN_GROUPS.join(', ')}`,
      examples: ['model,provider'],
    }),
});
export const periodPageQuery = z.strictObject({ ...period, ...pageQuery });
export const pricesQuery = z.strictObject({
  model: z.string().min(1).max(128).optional().meta({ description: 'Only this model' }),
  at: timeParameter.optional().meta({ description: 'Only what was in force then' }),
  ...pageQuery,
});

const month = z.string().meta({ description: 'UTC', examples: ['2026-10'] });
const count = z.int().min(0);

export const deferredRevenueJson = z
  .object({
    at: z.iso.datetime().meta({ description: 'The instant asked for' }),
    credits: usdString.meta({ description: 'Balances of all accounts: sold or granted, and not used yet' }),
    receivable: usdString.meta({ description: 'Owed for reversed payments' }),
    accounts: count.meta({ description: 'Those with a balance' }),
  })
  .meta({ id: 'DeferredRevenue' });

export const agedDebtJson = z
  .object({
    account_id: accountId,
    name: z.string().meta({ description: 'Name of the account' }),
    owed: usdString.meta({ description: 'Owed in all, USD' }),
    under_30_days: usdString.meta({ description: 'Owed for less than 30 days' }),
    under_60_days: usdString.meta({ description: 'Owed for 30 to 60 days' }),
    under_90_days: usdString.meta({ description: 'Owed for 60 to 90 days' }),
    older: usdString.meta({ description: 'Owed for 90 days and more' }),
    oldest_at: z.iso.datetime().meta({ description: 'Since when the oldest part is owed' }),
  })
  .meta({ id: 'AgedDebt' });

export const marginJson = z
  .object({
    month,
    period_start: z.iso
      .datetime()
      .meta({ description: 'Start of the period; not before the start of the range' }),
    model: z.string().nullable().meta({ description: 'null unless grouped by model' }),
    endpoint: z.string().nullable().meta({ description: 'null unless grouped by endpoint' }),
    provider: z
      .string()
      .nullable()
      .meta({ description: 'null unless grouped by provider, or where none was asked' }),
    account_id: z.string().nullable().meta({ description: 'Account, acc_…; null unless grouped by account' }),
    calls: count.meta({ description: 'Calls and tasks that ended in the period' }),
    failed_calls: count.meta({ description: 'Of these, failed ones' }),
    calls_without_cost: count.meta({
      description: 'Whose route has no pricing: their cost is not in the sum',
    }),
    charged_without_cost: usdString.meta({ description: 'The part of charged that these calls brought in' }),
    charged: usdString.meta({ description: 'Charged to customers, USD' }),
    refunded: usdString.meta({ description: 'Refunded in the period, for charges of any time' }),
    provider_cost: usdString.meta({ description: 'Failed calls included' }),
    margin: usdString.meta({ description: 'charged − refunded − provider_cost' }),
  })
  .meta({ id: 'Margin' });

export const writeOffJson = z
  .object({
    month,
    reason: z.string().meta({
      description:
        'Why it was written off: above_hold, late_settlement, above_max_cost, provider_failure or debt_forgiven',
    }),
    count: count.meta({ description: 'How many' }),
    amount: usdString.meta({ description: 'Written off, USD' }),
  })
  .meta({ id: 'WriteOff' });

const decimal = z.string().regex(/^-?\d+(\.\d+)?$/);
const paymentMoveJson = z
  .object({
    id: z.string().meta({ description: "The provider's id of the movement" }),
    kind: z.string().meta({ description: "The provider's word: charge, refund, adjustment (a dispute), …" }),
    amount: decimal.meta({ description: 'Moved, in `currency`', examples: ['20.00'] }),
    fee: decimal.meta({ description: "The provider's fee, in `currency`", examples: ['0.88'] }),
    net: decimal.meta({ description: 'amount − fee', examples: ['19.12'] }),
    currency: z.string().meta({ description: 'Of the balance at the provider', examples: ['USD'] }),
    exchange_rate: z
      .number()
      .nullable()
      .meta({ description: 'From the currency paid to `currency`; null: the same' }),
    created_at: z.iso.datetime().meta({ description: 'When the provider booked it' }),
    available_at: z.iso.datetime().meta({ description: 'From when it can be paid out' }),
    payout_id: z.string().nullable().meta({ description: 'null: not paid out yet, or paid out manually' }),
    arrives_at: z.iso.datetime().nullable().meta({ description: 'When the payout is expected at the bank' }),
  })
  .meta({ id: 'PaymentMove' });

export const payoutJson = z
  .object({
    provider: z.string().meta({ description: 'bank: booked by an operator' }),
    payment_id: z.string().nullable().meta({ description: "The provider's" }),
    checkout_session_id: z
      .string()
      .nullable()
      .meta({ description: 'Checkout session that it paid, cs_…; null: booked by an operator' }),
    account_id: accountId,
    received: usdString.meta({ description: 'Paid by the customer, USD' }),
    taken_back: usdString.meta({ description: 'Refunded or disputed' }),
    given_back: usdString.meta({ description: 'Disputes won' }),
    net: usdString.meta({ description: 'received − taken_back + given_back' }),
    last_at: z.iso.datetime().meta({ description: 'When the last of it was booked' }),
    moves: z
      .array(paymentMoveJson)
      .meta({ description: 'What the payment moved at its provider, whenever it did' }),
  })
  .meta({ id: 'Payout' });

const kind = z.object({
  opening: usdString.meta({ description: 'Left at the start, USD' }),
  added: usdString.meta({ description: 'Granted or bought in the period' }),
  used: usdString.meta({ description: 'Used or taken back in the period' }),
  closing: usdString.meta({ description: 'Left at the end: opening + added − used' }),
});
export const creditsByKindJson = z
  .object({
    account_id: accountId,
    name: z.string().meta({ description: 'Name of the account' }),
    granted: kind.meta({ description: 'Used before paid ones' }),
    paid: kind.meta({ description: 'What is used of them is revenue' }),
  })
  .meta({ id: 'CreditsByKind' });

export const pricePeriodJson = z
  .object({
    model: modelId,
    price_version: z.string().nullable().meta({ description: 'Null: not sold' }),
    prices: z
      .record(z.string(), z.string())
      .nullable()
      .meta({ description: 'USD per token, request or image' }),
    starts_at: z.iso.datetime().meta({ description: 'Since when it is in force' }),
    ends_at: z.iso.datetime().nullable().meta({ description: 'Until when; null: it is in force now' }),
    changed_by: z.string().meta({ description: 'The catalog: its file and the SHA-256 of its text' }),
  })
  .meta({ id: 'PricePeriod' });

export const deferredRevenueResponse = answerOf(deferredRevenueJson, 'Sums over all accounts');
export const agedDebtsResponse = listOf(agedDebtJson, 'Accounts that owe, by id');
export const marginResponse = listOf(marginJson, 'By period and groups');
export const writeOffsResponse = listOf(writeOffJson, 'By month and reason');
export const payoutsResponse = listOf(payoutJson, 'Payments, oldest first');
export const creditsByKindResponse = listOf(creditsByKindJson, 'Accounts, by id');
export const pricesResponse = listOf(pricePeriodJson, 'Periods, newest first');

export type DeferredRevenueJson = z.output<typeof deferredRevenueJson>;
export type AgedDebtJson = z.output<typeof agedDebtJson>;
export type MarginJson = z.output<typeof marginJson>;
export type WriteOffJson = z.output<typeof writeOffJson>;
export type PayoutJson = z.output<typeof payoutJson>;
export type PaymentMoveJson = z.output<typeof paymentMoveJson>;
export type CreditsByKindJson = z.output<typeof creditsByKindJson>;
export type PricePeriodJson = z.output<typeof pricePeriodJson>;

import { z } from 'zod';
import { pageQuery } from '../../http/answers/page.ts';
import { timeParameter } from '../../http/input/time-range.ts';
import { accountId, answerOf, listOf, modelId, usdString } from '../../http/input/wire-shapes.ts';
import { MARGIN_GROUPS } from './book-reports.read-model.ts';

/** Longest period of one report. */
export const RANGE_DAYS_MAX = 366;

const instant = timeParameter.meta({ description: 'Only entries booked before this time count' });
const period = {
  start_time: timeParameter.meta({ description: 'Inclusive' }),
  end_time: timeParameter.meta({ description: `Exclusive, at most ${RANGE_DAYS_MAX} days after start_time` }),
};

export const instantQuery = z.strictObject({ at: instant });
export const instantPageQuery = z.strictObject({ at: instant, ...pageQuery });
export const periodQuery = z.strictObject(period);
export const marginQuery = z.strictObject({
  ...period,
  granularity: z
    .enum(['all', 'month', 'day'])
    .default('month')
    .meta({ description: 'Length of the periods, in UTC; all: one period for the whole range' }),
  group_by: z
    .string()
    .max(100)
    .transform((text) => [...new Set(text.split(',').map((name) => name.trim()))])
    .pipe(z.array(z.enum(MARGIN_GROUPS)))
    .default(['model'])
    .meta({
      type: 'string',
      default: 'model',
      description: `Comma-separated list of ${MARGIN_GROUPS.join(', ')}`,
      examples: ['model,provider'],
    }),
});
export const periodPageQuery = z.strictObject({ ...period, ...pageQuery });
export const pricesQuery = z.strictObject({
  model: z.string().min(1).max(128).optional().meta({ description: 'Only this model' }),
  at: timeParameter.optional().meta({ description: 'Only prices in effect at this time' }),
  ...pageQuery,
});

const month = z.string().meta({ description: 'UTC', examples: ['2026-10'] });
const count = z.int().min(0);

export const deferredRevenueJson = z
  .object({
    at: z.iso.datetime().meta({ description: 'The requested instant' }),
    credits: usdString.meta({
      description: 'Balances of all accounts: credits sold or granted, and not yet used',
    }),
    receivable: usdString.meta({ description: 'Owed for reversed payments' }),
    accounts: count.meta({ description: 'Accounts with a balance' }),
  })
  .meta({ id: 'DeferredRevenue' });

export const agedDebtJson = z
  .object({
    account_id: accountId,
    name: z.string().meta({ description: 'Name of the account' }),
    owed: usdString.meta({ description: 'Total owed, USD' }),
    under_30_days: usdString.meta({ description: 'Owed for less than 30 days' }),
    under_60_days: usdString.meta({ description: 'Owed for 30 to 60 days' }),
    under_90_days: usdString.meta({ description: 'Owed for 60 to 90 days' }),
    older: usdString.meta({ description: 'Owed for 90 days or more' }),
    oldest_at: z.iso.datetime().meta({ description: 'When the oldest part of the debt arose' }),
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
      .meta({ description: 'null unless grouped by provider, or if none was called' }),
    account_id: z.string().nullable().meta({ description: 'Account, acc_…; null unless grouped by account' }),
    calls: count.meta({ description: 'Calls and tasks that ended in the period' }),
    failed_calls: count.meta({ description: 'How many of them failed' }),
    calls_without_cost: count.meta({
      description: 'Calls whose route has no pricing: their cost is not in the sum',
    }),
    charged_without_cost: usdString.meta({
      description: 'The part of `charged` that comes from these calls',
    }),
    charged: usdString.meta({ description: 'Charged to customers, USD' }),
    refunded: usdString.meta({ description: 'Refunded in the period, whenever it was charged' }),
    refunded_without_cost: usdString.meta({
      description: 'The part of `refunded` that was charged by calls without a known cost',
    }),
    provider_cost: usdString.meta({ description: 'Provider cost, USD, including failed calls' }),
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
    count: count.meta({ description: 'Number of write-offs' }),
    amount: usdString.meta({ description: 'Written off, USD' }),
  })
  .meta({ id: 'WriteOff' });

const decimal = z.string().regex(/^-?\d+(\.\d+)?$/);
const paymentMoveJson = z
  .object({
    id: z.string().meta({ description: "The provider's id of the movement" }),
    kind: z
      .string()
      .meta({ description: 'Kind, as named by the provider: charge, refund, adjustment (a dispute), …' }),
    amount: decimal.meta({ description: 'Amount moved, in `currency`', examples: ['20.00'] }),
    fee: decimal.meta({ description: "The provider's fee, in `currency`", examples: ['0.88'] }),
    net: decimal.meta({ description: 'amount − fee', examples: ['19.12'] }),
    currency: z.string().meta({ description: 'Currency of the balance at the provider', examples: ['USD'] }),
    exchange_rate: z
      .number()
      .nullable()
      .meta({ description: 'Exchange rate from the currency paid to `currency`; null if they are the same' }),
    created_at: z.iso.datetime().meta({ description: 'When the provider booked it' }),
    available_at: z.iso.datetime().meta({ description: 'When it becomes available for payout' }),
    payout_id: z
      .string()
      .nullable()
      .meta({ description: 'Id of the payout; null if not paid out yet, or paid out manually' }),
    arrives_at: z.iso.datetime().nullable().meta({ description: 'When the payout is expected at the bank' }),
  })
  .meta({ id: 'PaymentMove' });

export const payoutJson = z
  .object({
    provider: z.string().meta({ description: 'Payment provider; bank: booked by an operator' }),
    payment_id: z.string().nullable().meta({ description: "The provider's id of the payment" }),
    checkout_session_id: z
      .string()
      .nullable()
      .meta({ description: 'Checkout session that it paid, cs_…; null if booked by an operator' }),
    account_id: accountId,
    received: usdString.meta({ description: 'Paid by the customer, USD' }),
    taken_back: usdString.meta({ description: 'Refunded or disputed, USD' }),
    given_back: usdString.meta({ description: 'Returned by disputes won, USD' }),
    net: usdString.meta({ description: 'received − taken_back + given_back' }),
    last_at: z.iso.datetime().meta({ description: 'When its last entry was booked' }),
    moves: z.array(paymentMoveJson).meta({
      description: 'Everything that the payment moved at its provider, inside and outside the period',
    }),
  })
  .meta({ id: 'Payout' });

const kind = z.object({
  opening: usdString.meta({ description: 'Remaining at the start, USD' }),
  added: usdString.meta({ description: 'Granted or bought in the period, less what was taken back' }),
  used: usdString.meta({ description: 'Used in the period' }),
  closing: usdString.meta({ description: 'Remaining at the end: opening + added − used' }),
});
export const creditsByKindJson = z
  .object({
    account_id: accountId,
    name: z.string().meta({ description: 'Name of the account' }),
    granted: kind.meta({ description: 'Granted credits; they are used before paid ones' }),
    paid: kind.meta({ description: 'Paid credits; their usage is revenue' }),
  })
  .meta({ id: 'CreditsByKind' });

export const pricePeriodJson = z
  .object({
    model: modelId,
    price_version: z
      .string()
      .nullable()
      .meta({ description: 'Version of the price; null if the model was not sold' }),
    prices: z
      .record(z.string(), z.string())
      .nullable()
      .meta({ description: 'USD per token, request or image' }),
    starts_at: z.iso.datetime().meta({ description: 'When it took effect' }),
    ends_at: z.iso.datetime().nullable().meta({ description: 'When it ended; null if it is in effect now' }),
    changed_by: z
      .string()
      .meta({ description: 'The catalog that set it: its file and the SHA-256 of its text' }),
  })
  .meta({ id: 'PricePeriod' });

export const deferredRevenueResponse = answerOf(deferredRevenueJson, 'Sums over all accounts');
export const agedDebtsResponse = listOf(agedDebtJson, 'Accounts with a debt, by id');
export const marginResponse = listOf(marginJson, 'Margins by period and groups');
export const writeOffsResponse = listOf(writeOffJson, 'Write-offs by month and reason');
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

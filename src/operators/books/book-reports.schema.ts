import { z } from 'zod';
import { pageQuery } from '../../http/page.ts';
import { timeParameter } from '../../http/time-range.ts';
import { usdString } from '../../http/wire-shapes.ts';

const instant = timeParameter.meta({ description: 'What was booked before it counts' });
const period = {
  start_time: timeParameter.meta({ description: 'Inclusive' }),
  end_time: timeParameter.meta({ description: 'Exclusive' }),
};

export const instantQuery = z.strictObject({ at: instant });
export const instantPageQuery = z.strictObject({ at: instant, ...pageQuery });
export const periodQuery = z.strictObject(period);
export const periodPageQuery = z.strictObject({ ...period, ...pageQuery });
export const pricesQuery = z.strictObject({
  model: z.string().min(1).max(128).optional(),
  at: timeParameter.optional().meta({ description: 'Only what was in force then' }),
  ...pageQuery,
});

const month = z.string().meta({ description: 'UTC', examples: ['2026-10'] });
const count = z.int().min(0);

export const deferredRevenueJson = z
  .object({
    at: z.iso.datetime(),
    credits: usdString.meta({ description: 'Balances of all accounts: sold or granted, and not used yet' }),
    receivable: usdString.meta({ description: 'Owed for reversed payments' }),
    accounts: count.meta({ description: 'Those with a balance' }),
  })
  .meta({ id: 'DeferredRevenue' });

export const agedDebtJson = z
  .object({
    account_id: z.string(),
    name: z.string(),
    owed: usdString,
    under_30_days: usdString,
    under_60_days: usdString,
    under_90_days: usdString,
    older: usdString,
    oldest_at: z.iso.datetime(),
  })
  .meta({ id: 'AgedDebt' });

export const marginJson = z
  .object({
    month,
    model: z.string(),
    calls: count,
    failed_calls: count,
    calls_without_cost: count.meta({
      description: 'Whose route has no pricing: their cost is not in the sum',
    }),
    charged: usdString,
    refunded: usdString,
    provider_cost: usdString.meta({ description: 'Failed calls included' }),
    margin: usdString,
  })
  .meta({ id: 'Margin' });

export const writeOffJson = z
  .object({ month, reason: z.string(), count, amount: usdString })
  .meta({ id: 'WriteOff' });

export const payoutJson = z
  .object({
    provider: z.string().meta({ description: 'bank: booked by an operator' }),
    payment_id: z.string().nullable().meta({ description: "The provider's" }),
    checkout_session_id: z.string().nullable(),
    account_id: z.string(),
    received: usdString,
    taken_back: usdString.meta({ description: 'Refunded or disputed' }),
    given_back: usdString.meta({ description: 'Disputes won' }),
    net: usdString,
    last_at: z.iso.datetime(),
  })
  .meta({ id: 'Payout' });

const kind = z.object({ opening: usdString, added: usdString, used: usdString, closing: usdString });
export const creditsByKindJson = z
  .object({
    account_id: z.string(),
    name: z.string(),
    granted: kind.meta({ description: 'Used before paid ones' }),
    paid: kind.meta({ description: 'What is used of them is revenue' }),
  })
  .meta({ id: 'CreditsByKind' });

export const pricePeriodJson = z
  .object({
    model: z.string(),
    price_version: z.string().nullable().meta({ description: 'Null: not sold' }),
    prices: z
      .record(z.string(), z.string())
      .nullable()
      .meta({ description: 'USD per token, request or image' }),
    starts_at: z.iso.datetime(),
    ends_at: z.iso.datetime().nullable(),
    changed_by: z.string().meta({ description: 'The catalog: its file and the SHA-256 of its text' }),
  })
  .meta({ id: 'PricePeriod' });

const requestId = z.string();
export const deferredRevenueResponse = z.strictObject({ data: deferredRevenueJson, request_id: requestId });
export const agedDebtsResponse = z.strictObject({ data: z.array(agedDebtJson), request_id: requestId });
export const marginResponse = z.strictObject({ data: z.array(marginJson), request_id: requestId });
export const writeOffsResponse = z.strictObject({ data: z.array(writeOffJson), request_id: requestId });
export const payoutsResponse = z.strictObject({ data: z.array(payoutJson), request_id: requestId });
export const creditsByKindResponse = z.strictObject({
  data: z.array(creditsByKindJson),
  request_id: requestId,
});
export const pricesResponse = z.strictObject({ data: z.array(pricePeriodJson), request_id: requestId });

export type DeferredRevenueJson = z.output<typeof deferredRevenueJson>;
export type AgedDebtJson = z.output<typeof agedDebtJson>;
export type MarginJson = z.output<typeof marginJson>;
export type WriteOffJson = z.output<typeof writeOffJson>;
export type PayoutJson = z.output<typeof payoutJson>;
export type CreditsByKindJson = z.output<typeof creditsByKindJson>;
export type PricePeriodJson = z.output<typeof pricePeriodJson>;

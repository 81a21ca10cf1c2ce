import { z } from 'zod';
import { pageQuery } from '../http/answers/page.ts';
import { GRANULARITIES, timeParameter } from '../http/input/time-range.ts';
import {
  answerOf,
  currencyJson,
  endpointPath,
  listOf,
  modelId,
  moneyJson,
  usageJson,
  usdString,
} from '../http/input/wire-shapes.ts';
import { LINE_ITEMS } from '../ledger/ledger.types.ts';

const keyFilter = z
  .string()
  .min(1)
  .max(128)
  .optional()
  .meta({ description: 'Only this key; a deleted one too' });

const range = {
  start_time: timeParameter
    .optional()
    .meta({ description: 'Inclusive, a multiple of 5 minutes; default 30 days before the end' }),
  end_time: timeParameter
    .optional()
    .meta({ description: 'Exclusive, a multiple of 5 minutes; default the end of the running bucket' }),
};

export const COST_GROUPS = ['model', 'api_key', 'endpoint'] as const;
export type CostGroup = (typeof COST_GROUPS)[number];

const groupBy = z
  .string()
  .max(100)
  .transform((text, context): CostGroup[] => {
    const names = [...new Set(text.split(',').map((name) => name.trim()))];
    const unknown = names.find((name) => !COST_GROUPS.some((group) => group === name));
    if (unknown !== undefined) {
      context.addIssue({ code: 'custom', message: `must be a comma list of ${COST_GROUPS.join(', ')}` });
      return z.NEVER;
    }
    return names as CostGroup[];
  })
  .default([])
  .meta({ description: 'Comma list of model, api_key, endpoint', examples: ['model,api_key'] });

export const usageQuery = z.strictObject({
  ...range,
  granularity: z
    .enum(GRANULARITIES)
    .default('day')
    .meta({ description: '5m ≤ 48 h, hour ≤ 31 d, day ≤ 366 d' }),
  api_key_hash: keyFilter,
  model: z.string().min(1).max(128).optional().meta({ description: 'Only this model' }),
  ...pageQuery,
});

export const activityQuery = z.strictObject({ ...range, api_key_hash: keyFilter, ...pageQuery });

export const costsQuery = z.strictObject({
  ...range,
  granularity: z.enum(['hour', 'day']).default('day').meta({ description: 'hour ≤ 31 d, day ≤ 366 d' }),
  group_by: groupBy,
  api_key_hash: keyFilter,
  ...pageQuery,
});

export const costsTotalQuery = z.strictObject({ ...range, api_key_hash: keyFilter });

const count = z.int().min(0);
const period = {
  period_start: z.iso.datetime().meta({ description: 'Inclusive; not before the start of the range' }),
  period_end: z.iso.datetime().meta({ description: 'Exclusive; not after the end of the range' }),
};
const requestCount = count.meta({ description: 'Calls and tasks that ended in the period' });
const keyHash = z
  .string()
  .meta({ description: 'Hash of the key that made the calls; stays when it is deleted' });

export const usageRow = z
  .object({
    ...period,
    request_count: requestCount,
    model: modelId,
    api_key_hash: keyHash,
    ...usageJson.shape,
  })
  .meta({ id: 'UsageRow' });

export const activityRow = z
  .object({
    ...period,
    endpoint: endpointPath,
    request_count: requestCount,
    model: modelId,
    api_key_hash: keyHash,
    usage: usageJson.meta({ description: 'Tokens of these calls together' }),
    charged_amount: usdString.meta({ description: 'Charged for them, USD; refunds are not subtracted' }),
    currency: currencyJson,
  })
  .meta({ id: 'ActivityRow' });

export const costRow = z
  .object({
    ...period,
    amount: moneyJson.meta({ description: 'Charged for this line; refunds are not subtracted' }),
    line_item: z.enum(LINE_ITEMS).meta({ description: 'What the charge is for' }),
    model: z.string().nullable().meta({ description: 'null unless grouped by model' }),
    api_key_hash: z.string().nullable().meta({ description: 'null unless grouped by api_key' }),
    endpoint: z.string().nullable().meta({ description: 'null unless grouped by endpoint' }),
  })
  .meta({ id: 'CostRow' });

export const costsTotal = z
  .object({
    period_start: z.iso.datetime().meta({ description: 'Inclusive' }),
    period_end: z.iso.datetime().meta({ description: 'Exclusive' }),
    amount: moneyJson.nullable().meta({
      description:
        'Charged, refunds not subtracted; null: one key has more than 200,000 charges in the range, which are not added up',
    }),
  })
  .meta({ id: 'CostsTotal' });

const milliseconds = z
  .object({
    p50: count.meta({ description: 'Median' }),
    p95: count.meta({ description: '95th percentile' }),
  })
  .nullable();

export const speedRow = z
  .object({
    ...period,
    model: modelId,
    request_count: requestCount,
    failed_count: count.meta({ description: 'Of them without a whole answer' }),
    first_token_ms: milliseconds.meta({ description: 'Until the first token of streams; null without one' }),
    latency_ms: milliseconds.meta({
      description: 'Until the end of calls that ended well; null without one',
    }),
    tokens_per_second: z
      .number()
      .nullable()
      .meta({ description: 'Tokens of answers by the time they took after the first; null without any' }),
  })
  .meta({ id: 'SpeedRow' });

export const speedResponse = listOf(speedRow, 'Rows, by time ascending; periods without a call have none');
export const usageResponse = listOf(usageRow, 'Rows, by time ascending; periods without a call have none');
export const activityResponse = listOf(activityRow, 'Rows of days, by time ascending');
export const costsResponse = listOf(costRow, 'Rows, by time ascending; periods without a charge have none');

export const costsTotalResponse = answerOf(costsTotal, 'What the ledger charged');

export type UsageQuery = z.output<typeof usageQuery>;
export type ActivityQuery = z.output<typeof activityQuery>;
export type CostsQuery = z.output<typeof costsQuery>;
export type CostsTotalQuery = z.output<typeof costsTotalQuery>;
export type CostsTotalJson = z.output<typeof costsTotal>;
export type SpeedRowJson = z.output<typeof speedRow>;
export type UsageRowJson = z.output<typeof usageRow>;
export type ActivityRowJson = z.output<typeof activityRow>;
export type CostRowJson = z.output<typeof costRow>;

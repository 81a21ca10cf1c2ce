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
  .meta({ description: 'Only this key; it may be a deleted one' });

const range = {
  start_time: timeParameter
    .optional()
    .meta({ description: 'Inclusive, a multiple of 5 minutes; defaults to 30 days before the end' }),
  end_time: timeParameter
    .optional()
    .meta({ description: 'Exclusive, a multiple of 5 minutes; defaults to the end of the current bucket' }),
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
      context.addIssue({
        code: 'custom',
        message: `must be a comma-separated list of ${COST_GROUPS.join(', ')}`,
      });
      return z.NEVER;
    }
    return names as CostGroup[];
  })
  .default([])
  .meta({ description: 'Comma-separated list of model, api_key, endpoint', examples: ['model,api_key'] });

export const usageQuery = z.strictObject({
  ...range,
  granularity: z
    .enum(GRANULARITIES)
    .default('day')
    .meta({ description: 'Longest range: 48 hours for 5m, 31 days for hour, 366 days for day' }),
  api_key_hash: keyFilter,
  model: z.string().min(1).max(128).optional().meta({ description: 'Only this model' }),
  ...pageQuery,
});

export const activityQuery = z.strictObject({ ...range, api_key_hash: keyFilter, ...pageQuery });

export const costsQuery = z.strictObject({
  ...range,
  granularity: z
    .enum(['hour', 'day'])
    .default('day')
    .meta({ description: 'Longest range: 31 days for hour, 366 days for day' }),
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
  .meta({ description: 'Hash of the key that made the calls; kept when the key is deleted' });

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
    usage: usageJson.meta({ description: 'Total tokens of these calls' }),
    charged_amount: usdString.meta({
      description: 'Charged for these calls, in USD; refunds are not subtracted',
    }),
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
        'Amount charged; refunds are not subtracted. null when only one key is selected and it has more than 200,000 charges in the range',
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
    failed_count: count.meta({ description: 'Those without a complete answer' }),
    first_token_ms: milliseconds.meta({
      description: 'Time to the first token of successful streams; null when there is none',
    }),
    latency_ms: milliseconds.meta({
      description: 'Total time of successful calls; null when there is none',
    }),
    tokens_per_second: z.number().nullable().meta({
      description:
        'Output tokens divided by the time they took: from the first token of a stream, from the request for a whole answer; null when there is none',
    }),
  })
  .meta({ id: 'SpeedRow' });

export const speedResponse = listOf(
  speedRow,
  'Rows in ascending order of time; periods without calls have none',
);
export const usageResponse = listOf(
  usageRow,
  'Rows in ascending order of time; periods without calls have none',
);
export const activityResponse = listOf(activityRow, 'Daily rows in ascending order of time');
export const costsResponse = listOf(
  costRow,
  'Rows in ascending order of time; periods without charges have none',
);

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

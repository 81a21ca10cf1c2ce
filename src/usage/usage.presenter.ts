import { type BucketRange, periodOf } from '../http/input/time-range.ts';
import { CURRENCY, presentUsage } from '../http/input/wire-shapes.ts';
import { formatUsd, nanoUsd } from '../lib/money.ts';
import type { ActivitySums, CostSums, SpeedSums, UsageSums } from './usage.read-model.ts';
import type {
  ActivityRowJson,
  CostRowJson,
  CostsTotalJson,
  SpeedRowJson,
  UsageRowJson,
} from './usage.schema.ts';

export function presentUsageRow(row: UsageSums, range: BucketRange): UsageRowJson {
  const { period_start, period_end } = period(row.period_start, range);
  return {
    period_start,
    period_end,
    request_count: Number(row.requests),
    model: row.model,
    api_key_hash: row.api_key_hash,
    ...presentUsage(row),
  };
}

export function presentSpeedRow(row: SpeedSums, range: BucketRange): SpeedRowJson {
  const { period_start, period_end } = period(row.period_start, range);
  const milliseconds = (pair: SpeedSums['latency']) => pair && { p50: pair[0], p95: pair[1] };
  return {
    period_start,
    period_end,
    model: row.model,
    request_count: row.requests,
    failed_count: row.failed,
    first_token_ms: milliseconds(row.first_token),
    latency_ms: milliseconds(row.latency),
    tokens_per_second: row.tokens_per_second === null ? null : Math.round(row.tokens_per_second * 10) / 10,
  };
}

export function presentActivityRow(row: ActivitySums, range: BucketRange): ActivityRowJson {
  const { period_start, period_end } = period(row.period_start, range);
  return {
    period_start,
    period_end,
    endpoint: row.endpoint,
    request_count: Number(row.requests),
    model: row.model,
    api_key_hash: row.api_key_hash,
    usage: presentUsage(row),
    charged_amount: formatUsd(nanoUsd(row.charge)),
    currency: CURRENCY,
  };
}

export function presentCostRow(row: CostSums, range: BucketRange): CostRowJson {
  const { period_start, period_end } = period(row.period_start, range);
  return {
    period_start,
    period_end,
    amount: { value: formatUsd(nanoUsd(row.amount)), currency: CURRENCY },
    line_item: row.line_item,
    model: row.model,
    api_key_hash: row.api_key_hash,
    endpoint: row.endpoint,
  };
}

export function presentCostsTotal(amount: string | null, range: BucketRange): CostsTotalJson {
  return {
    period_start: range.start.toISOString(),
    period_end: range.end.toISOString(),
    amount: amount === null ? null : { value: formatUsd(nanoUsd(amount)), currency: CURRENCY },
  };
}

function period(bucketStart: Date, range: BucketRange): { period_start: string; period_end: string } {
  const { start, end } = periodOf(bucketStart, range);
  return { period_start: start.toISOString(), period_end: end.toISOString() };
}

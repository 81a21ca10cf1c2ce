import { CURRENCY, presentUsage } from '../http/input/wire-shapes.ts';
import { publicId } from '../lib/ids.ts';
import { formatUsd, nanoUsd } from '../lib/money.ts';
import type { GenerationRow } from './generations.read-model.ts';
import type { GenerationJson } from './generations.schema.ts';
import type { GenerationPage } from './generations.service.ts';

/** Presents a page of the log, for both the account and operators. */
export function presentGenerations(page: GenerationPage): {
  data: GenerationJson[];
  searched_until?: string;
} {
  return {
    data: page.rows.map(presentGeneration),
    ...(page.searchedUntil && { searched_until: page.searchedUntil.toISOString() }),
  };
}

export function presentGeneration(row: GenerationRow): GenerationJson {
  const error = row.error_code === null ? null : { code: row.error_code, message: row.error_message ?? '' };
  const lines = Object.entries(row.lines).filter(([, amount]) => BigInt(amount) !== 0n);
  return {
    id: publicId('generation', row.id),
    created_at: row.created_at.toISOString(),
    completed_at: row.completed_at?.toISOString() ?? null,
    endpoint: row.endpoint,
    status: row.status,
    model: row.model,
    api_key_hash: row.api_key_hash,
    latency_ms: row.latency_ms,
    usage: presentUsage(row),
    charged_amount: formatUsd(nanoUsd(row.charge)),
    currency: CURRENCY,
    error,
    usage_source: row.usage_source,
    cost_details: Object.fromEntries(lines.map(([item, amount]) => [item, formatUsd(nanoUsd(amount))])),
    price_version: row.price_version,
    unit_prices:
      row.pricing && Object.fromEntries(Object.entries(row.pricing).filter(([, price]) => price !== '0')),
    finish_reason: row.finish_reason,
    streamed: row.streamed,
    first_token_ms: row.first_token_ms,
    ignored_parameters: [...(row.metering?.ignored ?? [])],
  };
}

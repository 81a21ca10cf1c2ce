import { CURRENCY } from '../http/input/wire-shapes.ts';
import { publicId } from '../lib/ids.ts';
import { formatUsd, nanoUsd } from '../lib/money.ts';
import type { AccountRow } from './accounts.read-model.ts';
import type { AccountJson } from './operators.schema.ts';

export function presentAccount(row: AccountRow): AccountJson {
  const remaining = nanoUsd(row.posted);
  const used = nanoUsd(row.used);
  return {
    id: publicId('account', row.id),
    name: row.name,
    suspended: row.suspended,
    allowed_models: row.allowed_models,
    max_keys: row.max_keys,
    billing: row.billing && { ...row.billing, address: [...row.billing.address] },
    rate_limits: row.rate_limits,
    created_at: row.created_at.toISOString(),
    erased_at: row.erased_at?.toISOString() ?? null,
    total_credits: formatUsd(nanoUsd(remaining + used)),
    total_usage: formatUsd(used),
    remaining_credits: formatUsd(remaining),
    held: formatUsd(nanoUsd(row.held)),
    debt: formatUsd(nanoUsd(row.debt)),
    usage_24h: formatUsd(nanoUsd(row.usage_24h)),
    usage_30d: formatUsd(nanoUsd(row.usage_30d)),
    last_used_at: row.last_used_at?.toISOString() ?? null,
    currency: CURRENCY,
  };
}

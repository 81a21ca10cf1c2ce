import { publicId } from '../lib/ids.ts';
import { nanoUsd, usdNumber } from '../lib/money.ts';
import type { ApiKeyRow } from '../store/models/api-key.model.ts';
import type { ApiKeyJson } from './keys.schema.ts';

export function presentKey(row: ApiKeyRow): ApiKeyJson {
  const spent = nanoUsd(row.spent);
  const limit = row.limit_nano === null ? null : nanoUsd(row.limit_nano);
  const counted = spent - nanoUsd(row.spent_before);
  const remaining = limit === null ? null : nanoUsd(limit > counted ? limit - counted : 0n);
  return {
    hash: row.hash,
    name: row.name,
    account_id: publicId('account', row.account_id),
    disabled: row.disabled,
    usage: usdNumber(spent),
    created_at: row.created_at.toISOString(),
    label: row.label,
    limit: limit === null ? null : usdNumber(limit),
    limit_remaining: remaining === null ? null : usdNumber(remaining),
    limit_reset: row.limit_reset,
    last_used_at: row.last_used_at?.toISOString() ?? null,
    expires_at: row.expires_at?.toISOString() ?? null,
    rate_limits: row.rate_limits,
    role: row.role,
    models: row.allowed_models,
  };
}

import { z } from 'zod';
import { CURRENCY, usdString } from '../http/wire-shapes.ts';
import { formatUsd, nanoUsd } from '../lib/money.ts';
import type { CreditsRow } from './credits.read-model.ts';

export const creditsJson = z
  .object({
    total_credits: usdString,
    total_usage: usdString,
    remaining_credits: usdString.meta({ description: 'total_credits − total_usage, over settled entries' }),
    currency: z.literal(CURRENCY),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: 'Credits' });

export function presentCredits(row: CreditsRow): z.output<typeof creditsJson> {
  const remaining = nanoUsd(row.posted);
  const used = nanoUsd(row.used);
  return {
    total_credits: formatUsd(nanoUsd(remaining + used)),
    total_usage: formatUsd(used),
    remaining_credits: formatUsd(remaining),
    currency: CURRENCY,
    updated_at: row.last_at.toISOString(),
  };
}

import { z } from 'zod';
import { CURRENCY, currencyJson, usdString } from '../http/input/wire-shapes.ts';
import { formatUsd, nanoUsd } from '../lib/money.ts';
import type { CreditsRow } from './credits.read-model.ts';

export const creditsJson = z
  .object({
    total_credits: usdString.meta({ description: 'Bought or granted so far, USD' }),
    total_usage: usdString.meta({ description: 'Charged so far minus refunds, USD' }),
    remaining_credits: usdString.meta({ description: 'total_credits − total_usage, over settled entries' }),
    debt: usdString.meta({ description: 'Owed for reversed payments; blocks new calls until it is paid' }),
    currency: currencyJson,
    updated_at: z.iso.datetime().meta({ description: 'When the balance last changed' }),
  })
  .meta({ id: 'Credits' });

/** Novita's user object (get-user-balance): its SDKs read the balance as an integer of 1/10000 USD. */
export const novitaUserJson = z.object({
  allow_features: z.array(z.string()).meta({ description: 'Always empty' }),
  credit_balance: z.int().meta({ description: 'Balance in 1/10000 USD, rounded down' }),
  free_trial: z.record(z.string(), z.int()).meta({ description: 'Always empty' }),
});

const NANO_USD_PER_CREDIT = 100_000n;

export function presentNovitaUser(row: CreditsRow): z.output<typeof novitaUserJson> {
  const posted = nanoUsd(row.posted);
  const below = posted < 0n && posted % NANO_USD_PER_CREDIT !== 0n ? 1n : 0n;
  return {
    allow_features: [],
    credit_balance: Number(posted / NANO_USD_PER_CREDIT - below),
    free_trial: {},
  };
}

export function presentCredits(row: CreditsRow): z.output<typeof creditsJson> {
  const remaining = nanoUsd(row.posted);
  const used = nanoUsd(row.used);
  return {
    total_credits: formatUsd(nanoUsd(remaining + used)),
    total_usage: formatUsd(used),
    remaining_credits: formatUsd(remaining),
    debt: formatUsd(nanoUsd(row.debt)),
    currency: CURRENCY,
    updated_at: row.last_at.toISOString(),
  };
}

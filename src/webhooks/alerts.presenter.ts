import { z } from 'zod';
import { CURRENCY } from '../http/input/wire-shapes.ts';
import { formatUsd, nanoUsd, usdNumber } from '../lib/money.ts';
import type { ALERTS, CREDITS_LOW, KEY_LIMIT_NEAR } from './alerts.schema.ts';
import type { Alerts } from './alerts.store.ts';

export const CREDITS_LOW_EVENT = 'credits.low';
export const KEY_LIMIT_NEAR_EVENT = 'key.limit_near';

const at = z.string().transform((text) => new Date(text).toISOString());
const amount = z.string().transform(nanoUsd);

/** The facts that `tell_alerts` recorded, with amounts in nano-USD. */
const FACTS = z.discriminatedUnion('event', [
  z.object({
    event: z.literal(CREDITS_LOW_EVENT),
    facts: z.object({ remaining: amount, threshold: amount, at }),
  }),
  z.object({
    event: z.literal(KEY_LIMIT_NEAR_EVENT),
    facts: z.object({
      hash: z.string(),
      name: z.string(),
      limit: amount,
      used: amount,
      limit_reset: z.enum(['daily', 'weekly', 'monthly']).nullable(),
      share: z.int(),
      at,
    }),
  }),
]);

export function presentAlerts({ url, creditsLow, keyLimitNear }: Alerts): z.output<typeof ALERTS> {
  return {
    url,
    credits_low: creditsLow === null ? null : usdNumber(creditsLow),
    key_limit_near: keyLimitNear,
  };
}

/** Returns the payload of an alert from the facts recorded when it was due. Throws ZodError for the facts of an unknown event. */
export function presentAlert(
  event: string,
  written: unknown,
): z.output<typeof CREDITS_LOW> | z.output<typeof KEY_LIMIT_NEAR> {
  const told = FACTS.parse({ event, facts: written });
  if (told.event === CREDITS_LOW_EVENT) {
    const { remaining, threshold, at: since } = told.facts;
    return {
      remaining_credits: formatUsd(remaining),
      threshold: formatUsd(threshold),
      currency: CURRENCY,
      at: since,
    };
  }
  const { hash, name, limit, used, limit_reset, share, at: since } = told.facts;
  return {
    key: { hash, name },
    limit: usdNumber(limit),
    limit_remaining: usdNumber(nanoUsd(limit > used ? limit - used : 0n)),
    limit_reset,
    percent: share,
    at: since,
  };
}

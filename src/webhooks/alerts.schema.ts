import { z } from 'zod';
import { httpUrl, usdString } from '../http/input/wire-shapes.ts';
import { parseUsdNumber } from '../lib/money.ts';

const url = httpUrl.nullable().meta({
  description: 'Where the events are posted: an https URL at a public address; null = nowhere',
});
const creditsLow = z
  .number()
  .positive()
  .max(10_000_000)
  .refine((value) => parseUsdNumber(value) !== undefined, 'must be at least 1e-9 USD')
  .nullable()
  .meta({
    description: '`credits.low` is sent when remaining_credits fall below this amount, in USD; null = never',
  });
const keyLimitNear = z.int().min(1).max(100).nullable().meta({
  description:
    '`key.limit_near` is sent when a key has spent this share of its limit, in percent; null = never',
});

export const CHANGE_ALERTS_BODY = z
  .strictObject({
    url: url.optional(),
    credits_low: creditsLow.optional(),
    key_limit_near: keyLimitNear.optional(),
  })
  .meta({ id: 'ChangeAlerts' });

export const ALERTS = z
  .object({ url, credits_low: creditsLow, key_limit_near: keyLimitNear })
  .meta({ id: 'Alerts' });
export const ALERTS_RESPONSE = z.object({ data: ALERTS.meta({ description: 'The settings in force' }) });

/** The payload of `credits.low`. */
export const CREDITS_LOW = z
  .object({
    remaining_credits: usdString,
    threshold: usdString.meta({ description: '`credits_low` of the settings' }),
    currency: z.literal('USD').meta({ description: 'Always USD' }),
    at: z.iso.datetime().meta({ description: 'When this was detected, UTC' }),
  })
  .meta({ id: 'CreditsLow' });

/** The payload of `key.limit_near`. Amounts have the form of `GET /api/v1/keys/{hash}`. */
export const KEY_LIMIT_NEAR = z
  .object({
    key: z
      .object({
        hash: z.string().meta({ description: 'Hash of the key, its id in the API' }),
        name: z.string().meta({ description: 'Name of the key' }),
      })
      .meta({ description: 'The key whose limit is near' }),
    limit: z.number().meta({ description: 'USD' }),
    limit_remaining: z.number().meta({ description: 'USD, until the limit renews' }),
    limit_reset: z
      .enum(['daily', 'weekly', 'monthly'])
      .nullable()
      .meta({ description: 'When the limit renews, at 00:00 UTC; null = never' }),
    percent: z.int().meta({ description: '`key_limit_near` of the settings' }),
    at: z.iso.datetime().meta({ description: 'When this was detected, UTC' }),
  })
  .meta({ id: 'KeyLimitNear' });

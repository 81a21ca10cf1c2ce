import { z } from 'zod';
import { pageQuery } from '../http/answers/page.ts';
import { accountId, answerOf, listOf, storableText } from '../http/input/wire-shapes.ts';
import { parseUsdNumber } from '../lib/money.ts';

const name = storableText.trim().min(1).max(200).meta({ description: 'Display name; need not be unique' });
const label = storableText
  .min(1)
  .max(200)
  .meta({ description: 'Label of the key in lists; by default its masked secret' });

const limit = z
  .number()
  .min(0)
  .max(10_000_000)
  .refine((value) => parseUsdNumber(value) !== undefined, 'must be 0 or at least 1e-9 USD')
  .nullable()
  .meta({
    description:
      'Spending limit in USD, over the lifetime of the key unless `limit_reset` renews it; null = unlimited',
    examples: [25],
  });

const limitReset = z.enum(['daily', 'weekly', 'monthly']).nullable().meta({
  description:
    'When the limit renews: at 00:00 UTC each day, on Mondays, or on the first of the month; null = never. A call counts when it is settled. Setting a different value restarts the count',
});

const UNIX_SECONDS_MAX = 253_402_300_799;

const expiresAt = z
  .union([z.iso.datetime({ offset: true }), z.int().min(0).max(UNIX_SECONDS_MAX)])
  .nullable()
  .meta({ description: 'RFC 3339 or unix seconds: the key stops working at this time; null = never' });

const most = (max: number, description: string) => z.int().min(1).max(max).optional().meta({ description });

/** Limits of one key, or of an account as an operator sets them. */
export const rateLimits = z.strictObject({
  requests_per_minute: most(10_000_000, 'Requests per minute, paid or not'),
  tokens_per_minute: most(10_000_000_000, 'Prompt and answer tokens per minute'),
  concurrency: most(100_000, 'Paid calls in flight at the same time'),
});

const keyRateLimits = rateLimits.nullable().meta({
  description:
    "Limits of this key within those of its account; null, or a member left out: no limit of its own. An account's limits apply to all its keys together",
  examples: [{ requests_per_minute: 60, concurrency: 5 }],
});
const models = z
  .array(z.string().min(1).max(256))
  .min(1)
  .max(1_000)
  .nullable()
  .meta({ description: 'Ids of the models that the key may call; null = all models of the account' });

export const createKeyBody = z
  .object({
    name,
    label: label.nullish(),
    disabled: z
      .boolean()
      .optional()
      .meta({ description: 'true: created, but not usable until it is enabled' }),
    limit: limit.optional(),
    limit_reset: limitReset.optional(),
    expires_at: expiresAt.optional(),
    rate_limits: keyRateLimits.optional(),
    models: models.optional(),
    role: z.enum(['inference', 'owner']).default('inference').meta({
      description: 'An inference key calls models; an owner key also manages keys and billing',
    }),
  })
  .meta({ id: 'CreateKey', examples: [{ name: 'production', limit: 25 }] });

export const updateKeyBody = z
  .object({
    name: name.optional(),
    label: label.optional(),
    disabled: z.boolean().optional().meta({
      description: 'true: rejected with 401 until it is enabled again; a key cannot disable itself',
    }),
    limit: limit.optional(),
    limit_reset: limitReset.optional(),
    expires_at: expiresAt.optional(),
    rate_limits: keyRateLimits.optional(),
    models: models.optional(),
  })
  .meta({ id: 'UpdateKey', examples: [{ disabled: true }] });

export const keyParams = z.object({
  hash: z.string().min(1).max(128).meta({ description: 'Hash of the key' }),
});

export const listKeysQuery = z.strictObject(pageQuery);

export const apiKey = z
  .object({
    hash: z.string().meta({ description: 'SHA-256 of the secret: the public name of the key' }),
    name: z.string().meta({ description: 'Display name; need not be unique' }),
    account_id: accountId,
    disabled: z.boolean().meta({ description: 'true: rejected with 401 until it is enabled again' }),
    usage: z.number().meta({ description: 'USD spent so far' }),
    created_at: z.iso.datetime().meta({ description: 'When it was created' }),
    label: z.string().meta({ description: 'Label of the key in lists; by default its masked secret' }),
    limit: z.number().nullable().meta({ description: 'USD; null = unlimited' }),
    limit_remaining: z
      .number()
      .nullable()
      .meta({ description: 'USD left until the limit renews; null = unlimited' }),
    limit_reset: limitReset,
    last_used_at: z.iso
      .datetime()
      .nullable()
      .meta({ description: 'When the key was last used; null: never' }),
    expires_at: z.iso.datetime().nullable().meta({ description: 'When it stops working; null: never' }),
    rate_limits: keyRateLimits,
    role: z
      .enum(['owner', 'inference'])
      .meta({ description: 'An inference key calls models; an owner key also manages keys and billing' }),
    models: z
      .array(z.string())
      .nullable()
      .meta({ description: 'Models that it may call; null = all models of the account' }),
  })
  .meta({ id: 'ApiKey' });

export const keyResponse = answerOf(apiKey, 'The key as it is now');
export const keyListResponse = listOf(apiKey, 'Keys, newest first');
export const createdKeyResponse = answerOf(apiKey, 'The new key').extend({
  key: z.string().meta({ description: 'The secret. It is shown only once and not stored.' }),
});

export type CreateKeyBody = z.output<typeof createKeyBody>;
export type UpdateKeyBody = z.output<typeof updateKeyBody>;
export type ApiKeyJson = z.output<typeof apiKey>;

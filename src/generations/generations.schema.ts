import { z } from 'zod';
import { pageQuery } from '../http/page.ts';
import { timeParameter } from '../http/time-range.ts';
import { CURRENCY, usageJson, usdString } from '../http/wire-shapes.ts';

export const generationQuery = z.strictObject({
  id: z.string().min(1).max(128).meta({ description: 'Generation id (gen-…) or the id of the request' }),
});

export const listGenerationsQuery = z.strictObject({
  status: z.enum(['completed', 'failed', 'cancelled']).optional(),
  model: z.string().min(1).max(128).optional(),
  api_key_hash: z
    .string()
    .min(1)
    .max(128)
    .optional()
    .meta({ description: 'Only this key; a deleted one too' }),
  start_time: timeParameter.optional().meta({ description: 'Inclusive' }),
  end_time: timeParameter.optional().meta({ description: 'Exclusive' }),
  ...pageQuery,
});

export const generationJson = z
  .object({
    id: z.string(),
    created_at: z.iso.datetime().meta({ description: 'When it was ordered' }),
    completed_at: z.iso
      .datetime()
      .nullable()
      .meta({ description: 'When it ended: the date of its charge, in reports and on the statement' }),
    endpoint: z.string(),
    status: z.enum(['queued', 'in_progress', 'completed', 'failed', 'cancelled']),
    model: z.string(),
    api_key_hash: z.string(),
    latency_ms: z.int(),
    usage: usageJson,
    charged_amount: usdString,
    currency: z.literal(CURRENCY),
    error: z.object({ code: z.string(), message: z.string() }).nullable(),
    usage_source: z.string().meta({ description: 'Who counted: provider, counted (our tokenizer), none' }),
    cost_details: z.record(z.string(), usdString).meta({ description: 'The charge by line item' }),
    price_version: z.string().meta({ description: 'Which prices of the model it was charged at' }),
    unit_prices: z
      .record(z.string(), z.string())
      .nullable()
      .meta({ description: 'Those prices: USD per token, request or image, without those that are 0' }),
    finish_reason: z.string().nullable(),
    streamed: z.boolean(),
    first_token_ms: z.int().nullable(),
    ignored_parameters: z
      .array(z.string())
      .meta({ description: 'Members of the request that were not sent to the provider' }),
  })
  .meta({ id: 'Generation' });

export const generationResponse = z.strictObject({ data: generationJson, request_id: z.string() });

export const generationListResponse = z.strictObject({
  data: z.array(generationJson),
  request_id: z.string(),
});

export type ListGenerationsQuery = z.output<typeof listGenerationsQuery>;
export type GenerationJson = z.output<typeof generationJson>;

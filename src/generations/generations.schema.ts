import { z } from 'zod';
import { pageQuery } from '../http/answers/page.ts';
import { timeParameter } from '../http/input/time-range.ts';
import {
  answerOf,
  apiKeyHash,
  currencyJson,
  endpointPath,
  failure,
  listOf,
  modelId,
  usageJson,
  usdString,
} from '../http/input/wire-shapes.ts';

export const generationQuery = z.strictObject({
  id: z.string().min(1).max(128).meta({ description: 'Generation id (gen-…) or request id' }),
});

export const listGenerationsQuery = z.strictObject({
  status: z
    .enum(['completed', 'failed', 'cancelled'])
    .optional()
    .meta({ description: 'Only generations with this status' }),
  model: z.string().min(1).max(128).optional().meta({ description: 'Only this model' }),
  endpoint: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .meta({ description: 'Only calls to this path', examples: ['/api/v1/chat/completions'] }),
  api_key_hash: z
    .string()
    .min(1)
    .max(128)
    .optional()
    .meta({ description: 'Only calls with this key, which may be a deleted one' }),
  start_time: timeParameter.optional().meta({ description: 'Inclusive' }),
  end_time: timeParameter.optional().meta({ description: 'Exclusive' }),
  ...pageQuery,
});

export const generationJson = z
  .object({
    id: z.string().meta({ description: 'Id of the generation, gen-…' }),
    created_at: z.iso.datetime().meta({ description: 'When it was requested' }),
    completed_at: z.iso.datetime().nullable().meta({
      description: 'When it ended, which is the date of its charge in reports and on the statement',
    }),
    endpoint: endpointPath,
    status: z
      .enum(['queued', 'in_progress', 'completed', 'failed', 'cancelled'])
      .meta({ description: 'completed, failed and cancelled are final; only ended generations are charged' }),
    model: modelId.meta({
      description: 'Public id of the model that answered and whose prices were charged',
    }),
    api_key_hash: apiKeyHash,
    latency_ms: z
      .int()
      .meta({ description: 'Ms from the start of the call, or the submission of the task, to its end' }),
    usage: usageJson.meta({ description: 'Tokens as charged' }),
    charged_amount: usdString.meta({ description: 'Charge in USD; refunds are separate entries' }),
    currency: currencyJson,
    error: failure,
    usage_source: z
      .string()
      .meta({ description: 'Who counted the tokens: provider, counted (our tokenizer) or none' }),
    cost_details: z.record(z.string(), usdString).meta({ description: 'The charge by line item' }),
    price_version: z.string().meta({ description: 'Version of the model prices that were charged' }),
    unit_prices: z
      .record(z.string(), z.string())
      .nullable()
      .meta({ description: 'Those prices in USD per token, request or image, without prices of 0' }),
    finish_reason: z.string().nullable().meta({
      description:
        'Why the answer ended: stop, length, tool_calls, content_filter or error; null when there was no answer',
    }),
    streamed: z.boolean().meta({ description: 'Whether the answer was streamed' }),
    first_token_ms: z.int().nullable().meta({
      description:
        'Ms from the start of the call to the first bytes of the answer; null when there were none',
    }),
    ignored_parameters: z
      .array(z.string())
      .meta({ description: 'Members of the request that were not sent to the provider' }),
  })
  .meta({ id: 'Generation' });

export const generationResponse = answerOf(generationJson, 'The generation');
export const generationListResponse = listOf(
  generationJson,
  'Generations that have ended, newest first',
).extend({
  searched_until: z.iso.datetime().optional().meta({
    description:
      'Present only when the filters left the page short: how far back the search went; the next page continues there',
  }),
});

export type ListGenerationsQuery = z.output<typeof listGenerationsQuery>;
export type GenerationJson = z.output<typeof generationJson>;

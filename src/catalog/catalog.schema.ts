import { z } from 'zod';
import { MODEL_ENDPOINTS } from './catalog.types.ts';

const price = z
  .string()
  .meta({ description: 'USD per token, request, image or search', examples: ['0.00000015'] });

const pricing = z.object({
  prompt: price,
  completion: price,
  request: price,
  image: price,
  web_search: price,
  internal_reasoning: price,
  input_cache_read: price,
  input_cache_write: price,
});

export const modelJson = z
  .object({
    id: z.string().meta({ examples: ['acme/small'] }),
    name: z.string(),
    description: z.string(),
    context_length: z.number(),
    architecture: z.object({
      modality: z.string(),
      input_modalities: z.array(z.string()),
      output_modalities: z.array(z.string()),
      tokenizer: z.string(),
      instruct_type: z.string().nullable(),
    }),
    top_provider: z.object({
      context_length: z.number(),
      max_completion_tokens: z.number().nullable(),
      is_moderated: z.boolean(),
    }),
    pricing,
    supported_parameters: z.array(z.string()),
    canonical_slug: z.string(),
    created: z.int().meta({ description: 'Unix seconds; 0 = not told' }),
    per_request_limits: z.null(),
    default_parameters: z.null(),
    endpoints: z.array(z.enum(MODEL_ENDPOINTS)),
    categories: z.array(z.string()),
  })
  .meta({ id: 'Model' });

export const listModelsQuery = z.strictObject({
  category: z.string().min(1).max(50).optional().meta({ description: 'Only models of this category' }),
  endpoint: z.enum(MODEL_ENDPOINTS).optional().meta({ description: 'Only models of this endpoint' }),
  q: z.string().min(1).max(200).optional().meta({ description: 'Part of id, name or description' }),
});

export const modelParams = z.object({ model: z.string().min(1).max(200) });

export const modelListResponse = z.strictObject({ data: z.array(modelJson), request_id: z.string() });
export const modelResponse = z.strictObject({ data: modelJson, request_id: z.string() });

export type ModelJson = z.output<typeof modelJson>;

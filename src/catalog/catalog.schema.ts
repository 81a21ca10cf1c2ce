import { z } from 'zod';
import { limitParameter } from '../http/page.ts';
import { MODEL_ENDPOINTS } from './catalog.types.ts';

const price = z
  .string()
  .meta({ description: 'USD per token, request, image or search', examples: ['0.00000015'] });

/** What is charged: a price that the catalog leaves out stands here as the one that takes its place. */
const pricing = z.object({
  prompt: price.meta({ description: 'USD per input token that no cache had' }),
  completion: price.meta({ description: 'USD per output token' }),
  request: price.meta({ description: 'USD per call or order' }),
  image: price.meta({ description: 'USD per image made' }),
  web_search: price.meta({ description: 'Always "0": searches are not offered' }),
  internal_reasoning: price.meta({ description: 'USD per reasoning token' }),
  input_cache_read: price.meta({ description: 'USD per input token read from a cache' }),
  input_cache_write: price.meta({ description: 'USD per input token written to a cache' }),
});

const mediaPrice = z.object({
  request: price.meta({ description: 'USD per order' }),
  second: price.meta({ description: 'USD per second of video, beside the price per order' }),
});

/** What an order of an image or video model may ask for. */
const media = z
  .object({
    sizes: z
      .array(z.string())
      .nullable()
      .meta({ description: 'width*height in pixels; null: any within sides', examples: [['1280*720']] }),
    sides: z
      .object({ min: z.int(), max: z.int() })
      .nullable()
      .meta({ description: 'Pixels of either side; null: the sizes are listed' }),
    default_size: z.string().nullable().meta({ description: 'null: an order must name its size' }),
    steps: z
      .object({ min: z.int(), max: z.int(), default: z.int().nullable() })
      .nullable()
      .meta({ description: 'null: the model takes none' }),
    seconds: z
      .array(z.int())
      .nullable()
      .meta({ description: 'Lengths of a video, the default first; null: there is one' }),
    price: mediaPrice,
    price_by_size: z.record(z.string(), mediaPrice).meta({ description: 'Sizes that cost something else' }),
  })
  .meta({ id: 'MediaOptions' });

const openAiModel = {
  id: z.string().meta({ examples: ['acme/small'] }),
  object: z.literal('model'),
  created: z.int().meta({ description: 'Unix seconds; 0 = not told' }),
  owned_by: z.string().meta({ description: 'The first part of the id', examples: ['acme'] }),
};

export const modelJson = z
  .object({
    ...openAiModel,
    aliases: z.array(z.string()).meta({ description: 'Other ids of the same model' }),
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
    media: media.nullable().meta({ description: 'Of image and video models; null for text models' }),
    supported_parameters: z.array(z.string()),
    canonical_slug: z.string(),
    per_request_limits: z
      .record(z.string(), z.number())
      .nullable()
      .meta({ description: 'Always null: limits are those of the key' }),
    default_parameters: z
      .record(z.string(), z.unknown())
      .nullable()
      .meta({ description: "Always null: the provider's own apply" }),
    supported_voices: z.array(z.string()).nullable(),
    links: z.object({ details: z.string().meta({ description: 'Path of this model' }) }),
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

export const modelListResponse = z.object({
  object: z.literal('list'),
  data: z.array(modelJson),
  total_count: z.int(),
  links: z.object({ next: z.string().nullable() }),
  request_id: z.string(),
});
export const modelResponse = z.object({ ...openAiModel, data: modelJson, request_id: z.string() });

/** Anthropic's model object (api/models-list). */
const anthropicModel = z
  .object({
    type: z.literal('model'),
    id: z.string(),
    display_name: z.string(),
    created_at: z.iso.datetime().meta({ description: '1970-01-01T00:00:00Z = not told' }),
  })
  .meta({ id: 'AnthropicModel' });

/** Query of GET /vendorx/v1/models. `beta` is what Anthropic's SDK adds to its beta calls. */
export const vendorModelsQuery = z.strictObject({
  limit: limitParameter
    .optional()
    .meta({ type: 'integer', minimum: 1, maximum: 1_000, description: 'Models per page, 1 to 1000' }),
  after_id: z.string().min(1).max(200).optional().meta({ description: 'Only models after this one' }),
  before_id: z.string().min(1).max(200).optional().meta({ description: 'Only models before this one' }),
  beta: z.string().max(10).optional(),
});

const page = {
  has_more: z.boolean(),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
};

/** Anthropic's list for clients that send its version header, OpenAI's for all others. */
export const vendorModelList = z.union([
  z.object({ data: z.array(anthropicModel), ...page }),
  z.object({ object: z.literal('list'), data: z.array(modelJson), ...page }),
]);
export const vendorModel = z.union([anthropicModel, modelJson]);
export type AnthropicModelJson = z.output<typeof anthropicModel>;

export type ModelJson = z.output<typeof modelJson>;

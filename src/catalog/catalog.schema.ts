import { z } from 'zod';
import { limitParameter } from '../http/answers/page.ts';
import { requestId } from '../http/input/wire-shapes.ts';
import { MODEL_ENDPOINTS } from './catalog.types.ts';

const price = z
  .string()
  .meta({ description: 'USD per token, request, image or search', examples: ['0.00000015'] });

/** The effective prices: one that the catalog omits is shown as the price that applies instead. */
const pricing = z.object({
  prompt: price.meta({ description: 'USD per input token that was not read from a cache' }),
  completion: price.meta({ description: 'USD per output token' }),
  request: price.meta({ description: 'USD per call or order' }),
  image: price.meta({ description: 'USD per generated image' }),
  web_search: price.meta({ description: 'Always "0": searches are not supported' }),
  internal_reasoning: price.meta({ description: 'USD per reasoning token' }),
  input_cache_read: price.meta({ description: 'USD per input token read from a cache' }),
  input_cache_write: price.meta({ description: 'USD per input token written to a cache' }),
});

const mediaPrice = z.object({
  request: price.meta({ description: 'USD per order' }),
  second: price.meta({ description: 'USD per second of video, on top of the price per order' }),
});

/** Options that an order of an image or video model may set. */
const media = z
  .object({
    sizes: z
      .array(z.string())
      .nullable()
      .meta({
        description: 'Offered sizes, width*height in pixels; null: any size within sides',
        examples: [['1280*720']],
      }),
    sides: z
      .object({
        min: z.int().meta({ description: 'Minimum, in pixels' }),
        max: z.int().meta({ description: 'Maximum, in pixels' }),
      })
      .nullable()
      .meta({ description: 'Range of width and height, in pixels; null: only the listed sizes are offered' }),
    default_size: z
      .string()
      .nullable()
      .meta({ description: 'width*height used if the order sets no size; null: the order must set one' }),
    steps: z
      .object({
        min: z.int().meta({ description: 'Minimum' }),
        max: z.int().meta({ description: 'Maximum' }),
        default: z
          .int()
          .nullable()
          .meta({ description: 'Used if the order sets no steps; null: the order must set them' }),
      })
      .nullable()
      .meta({ description: 'Denoising steps; null: the model does not take steps' }),
    seconds: z
      .array(z.int())
      .nullable()
      .meta({ description: 'Offered video lengths, the default first; null: the length is fixed' }),
    price: mediaPrice.meta({ description: 'Price of an order, except for the sizes in price_by_size' }),
    price_by_size: z.record(z.string(), mediaPrice).meta({ description: 'Sizes with a different price' }),
  })
  .meta({ id: 'MediaOptions', description: 'Options that an order of an image or video model may set' });

const openAiModel = {
  id: z.string().meta({ description: 'The id that calls use for the model', examples: ['tollgate/small'] }),
  object: z.literal('model').meta({ description: 'Always model' }),
  created: z.int().meta({ description: 'Unix seconds; 0 = not known' }),
  owned_by: z.string().meta({ description: 'The first part of the id', examples: ['tollgate'] }),
};

export const modelJson = z
  .object({
    ...openAiModel,
    aliases: z.array(z.string()).meta({ description: 'Other ids of the same model' }),
    name: z.string().meta({ description: 'Display name' }),
    description: z.string().meta({ description: 'Description for people; may be empty' }),
    context_length: z.number().meta({
      description: 'Maximum tokens of prompt and answer together; 0 if the catalog does not set it',
    }),
    architecture: z
      .object({
        modality: z.string().meta({ description: 'Both in one string, e.g. text+image->text' }),
        input_modalities: z
          .array(z.string())
          .meta({ description: 'text, image, file, audio, video: other input is rejected with 400' }),
        output_modalities: z
          .array(z.string())
          .meta({ description: 'text, embeddings, scores, image or video' }),
        tokenizer: z.string().meta({
          description:
            "Tokenizer family used for counts before a call; the charge is based on the provider's count",
        }),
        instruct_type: z.string().nullable().meta({ description: 'Always null' }),
      })
      .meta({ description: 'Input and output of the model' }),
    top_provider: z
      .object({
        context_length: z.number().meta({
          description: 'Maximum tokens of prompt and answer together; 0 if the catalog does not set it',
        }),
        max_completion_tokens: z
          .number()
          .nullable()
          .meta({ description: 'Maximum tokens of an answer; null: the model does not generate text' }),
        is_moderated: z.boolean().meta({ description: 'Always false' }),
      })
      .meta({ description: 'Limits of one call' }),
    pricing: pricing.meta({ description: 'Prices that are charged' }),
    media: media
      .nullable()
      .meta({ description: 'Options and prices of image and video models; null for text models' }),
    supported_parameters: z
      .array(z.string())
      .meta({ description: 'Request members that the model supports' }),
    canonical_slug: z.string().meta({ description: 'Same as id' }),
    per_request_limits: z
      .record(z.string(), z.number())
      .nullable()
      .meta({ description: 'Always null: limits are those of the key' }),
    default_parameters: z
      .record(z.string(), z.unknown())
      .nullable()
      .meta({ description: "Always null: the provider's defaults apply" }),
    supported_voices: z.array(z.string()).nullable().meta({ description: 'Always null' }),
    links: z
      .object({ details: z.string().meta({ description: 'Path of this model' }) })
      .meta({ description: 'Related URLs' }),
    endpoints: z.array(z.enum(MODEL_ENDPOINTS)).meta({
      description: 'Endpoints it can be called through: chat, messages, embeddings, rerank, video or image',
    }),
    categories: z
      .array(z.string())
      .meta({ description: 'Categories set by the operator; listModels filters by them' }),
  })
  .meta({ id: 'Model' });

export const listModelsQuery = z.strictObject({
  category: z.string().min(1).max(50).optional().meta({ description: 'Only models of this category' }),
  endpoint: z.enum(MODEL_ENDPOINTS).optional().meta({ description: 'Only models of this endpoint' }),
  q: z.string().min(1).max(200).optional().meta({ description: 'Part of id, name or description' }),
});

export const modelParams = z.object({
  model: z
    .string()
    .min(1)
    .max(200)
    .meta({ description: 'Public id of the model; slashes in it need no encoding' }),
});

export const modelListResponse = z.object({
  object: z.literal('list').meta({ description: 'Always list' }),
  data: z.array(modelJson).meta({ description: 'In the order of the catalog' }),
  total_count: z.int().meta({ description: 'Number of models' }),
  links: z
    .object({
      next: z.string().nullable().meta({ description: 'Always null: all models are on one page' }),
    })
    .meta({ description: 'Links to further pages' }),
  request_id: requestId,
});
export const modelResponse = z.object({
  ...openAiModel,
  data: modelJson.meta({ description: 'The model' }),
  request_id: requestId,
});

/** Anthropic's model object (api/models-list). */
const anthropicModel = z
  .object({
    type: z.literal('model').meta({ description: 'Always model' }),
    id: z.string().meta({ description: 'The id that calls use for the model' }),
    display_name: z.string().meta({ description: 'Display name' }),
    created_at: z.iso.datetime().meta({ description: '1970-01-01T00:00:00Z = not known' }),
    max_input_tokens: z.int().nullable().meta({
      description: 'Maximum tokens of prompt and answer together; null if the catalog does not set it',
    }),
    max_tokens: z
      .int()
      .nullable()
      .meta({ description: 'Maximum tokens of an answer; null: the model does not generate text' }),
    lifecycle: z.literal('active').meta({ description: 'Always active: the catalog lists no others' }),
    deprecated_at: z.null().meta({ description: 'Always null' }),
    retires_at: z.null().meta({ description: 'Always null' }),
    line: z.null().meta({ description: 'Always null: not known' }),
    capabilities: z.null().meta({ description: 'Always null: not known' }),
  })
  .meta({ id: 'AnthropicModel' });

/** Query of GET /vendorx/v1/models. `beta` is what Anthropic's SDK adds to its beta calls. */
export const vendorModelsQuery = z.strictObject({
  limit: limitParameter
    .optional()
    .meta({ type: 'integer', minimum: 1, maximum: 1_000, description: 'Models per page, 1 to 1000' }),
  after_id: z.string().min(1).max(200).optional().meta({ description: 'Only models after this one' }),
  before_id: z.string().min(1).max(200).optional().meta({ description: 'Only models before this one' }),
  beta: z
    .string()
    .max(10)
    .optional()
    .meta({ description: "Ignored: Anthropic's SDK sends it with its beta calls" }),
});

const page = {
  has_more: z.boolean().meta({ description: 'Whether a request with after_id = last_id returns more' }),
  first_id: z.string().nullable().meta({ description: 'Id of the first model; null: the list is empty' }),
  last_id: z.string().nullable().meta({ description: 'Id of the last model; null: the list is empty' }),
};

/** Anthropic's list for clients that send its version header, OpenAI's for all others. */
export const vendorModelList = z.union([
  z.object({ data: z.array(anthropicModel).meta({ description: 'In the order of the catalog' }), ...page }),
  z.object({
    object: z.literal('list').meta({ description: 'Always list' }),
    data: z.array(modelJson).meta({ description: 'In the order of the catalog' }),
    ...page,
  }),
]);
export const vendorModel = z.union([anthropicModel, modelJson]);
export type AnthropicModelJson = z.output<typeof anthropicModel>;

export type ModelJson = z.output<typeof modelJson>;

import type { AnthropicModelJson, ModelJson } from './catalog.schema.ts';
import type { Model, ModelEndpoint } from './catalog.types.ts';
import { areListed, type MediaOptions, type MediaPrices, sizeText } from './media-options.ts';
import { effectivePrices, formatPrice } from './pricing.ts';

const OUTPUT: Readonly<Record<ModelEndpoint, string>> = {
  chat: 'text',
  messages: 'text',
  embeddings: 'embeddings',
  rerank: 'scores',
  video: 'video',
  image: 'image',
};

const NOT_TOLD = 0;

/** Returns the members of a model that OpenAI's clients read. */
export function presentOpenAiModel({ id }: Model): Pick<ModelJson, 'id' | 'object' | 'created' | 'owned_by'> {
  return {
    id,
    object: 'model',
    created: NOT_TOLD,
    owned_by: id.includes('/') ? (id.split('/')[0] ?? id) : 'tollgate',
  };
}

/** Returns a model in Anthropic's format, with every member that its newest SDKs read (`ModelInfo` of anthropic 2.14). */
export function presentAnthropicModel({
  id,
  name,
  contextLength,
  maxOutputTokens,
}: Model): AnthropicModelJson {
  return {
    type: 'model',
    id,
    display_name: name,
    created_at: new Date(NOT_TOLD).toISOString(),
    max_input_tokens: contextLength || null,
    max_tokens: maxOutputTokens || null,
    lifecycle: 'active',
    deprecated_at: null,
    retires_at: null,
    line: null,
    capabilities: null,
  };
}

export function presentModel(model: Model): ModelJson {
  const outputs = [...new Set(model.endpoints.map((endpoint) => OUTPUT[endpoint]))];
  const pricing = effectivePrices(model.pricing);
  return {
    ...presentOpenAiModel(model),
    aliases: [...model.aliases],
    name: model.name,
    description: model.description,
    context_length: model.contextLength,
    architecture: {
      modality: `${model.inputModalities.join('+')}->${outputs.join('+')}`,
      input_modalities: [...model.inputModalities],
      output_modalities: outputs,
      tokenizer: model.tokenizer,
      instruct_type: null,
    },
    top_provider: {
      context_length: model.contextLength,
      max_completion_tokens: model.maxOutputTokens === 0 ? null : model.maxOutputTokens,
      is_moderated: false,
    },
    pricing: {
      prompt: formatPrice(pricing.prompt),
      completion: formatPrice(pricing.completion),
      request: formatPrice(pricing.request),
      image: formatPrice(pricing.image),
      web_search: formatPrice(pricing.web_search),
      internal_reasoning: formatPrice(pricing.internal_reasoning),
      input_cache_read: formatPrice(pricing.input_cache_read),
      input_cache_write: formatPrice(pricing.input_cache_write),
    },
    media: model.media ? presentMedia(model.media) : null,
    supported_parameters: [...model.supportedParameters],
    // members that OpenRouter's own client requires
    canonical_slug: model.id,
    per_request_limits: null,
    default_parameters: null,
    supported_voices: null,
    links: { details: `/api/v1/models/${model.id}` },
    endpoints: [...model.endpoints],
    categories: [...model.categories],
  };
}

function presentMedia(media: MediaOptions): ModelJson['media'] {
  const { sizes, defaultSize, steps, seconds, prices, pricesBySize } = media;
  return {
    sizes: areListed(sizes) ? sizes.map(sizeText) : null,
    sides: areListed(sizes) ? null : { min: sizes.min, max: sizes.max },
    default_size: defaultSize ? sizeText(defaultSize) : null,
    steps: steps ? { min: steps.min, max: steps.max, default: steps.default ?? null } : null,
    seconds: seconds ? [...seconds] : null,
    price: presentMediaPrices(prices),
    price_by_size: Object.fromEntries(
      [...pricesBySize].map(([size, sized]) => [size, presentMediaPrices(sized)]),
    ),
  };
}

/** Returns the price of an order and of each second on top of it. */
function presentMediaPrices({ request, image, second }: MediaPrices) {
  return { request: formatPrice(request + image), second: formatPrice(second) };
}

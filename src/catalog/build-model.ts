import type { EngineRoute, Model, ModelEndpoint, ProviderRoute } from './catalog.types.ts';
import { CatalogError } from './catalog-error.ts';
import type { MediaEntry, ModelEntry } from './catalog-file.schema.ts';
import {
  areListed,
  type MediaOptions,
  type MediaPrices,
  morePrices,
  offersSize,
  sizeText,
} from './media-options.ts';
import { PRICE_NAMES, type PriceName, priceVersionId } from './pricing.ts';
import { type RunSettings, runPolicy } from './run-policy.ts';

type Offer = Omit<MediaOptions, 'prices' | 'pricesBySize' | 'declared'>;

/** Options that the interface fixes for image-turbo and video-fast. They are also the defaults for models that declare no `media`. */
const STANDARD: Readonly<Record<'image' | 'video', Offer>> = {
  image: {
    sizes: { min: 256, max: 1_536, multiple: 1 },
    defaultSize: { width: 1_024, height: 1_024 },
    steps: undefined,
    seconds: undefined,
    defaultSeed: -1,
    seedMax: 2_147_483_647,
  },
  video: {
    sizes: [
      { width: 1_280, height: 720 },
      { width: 720, height: 1_280 },
    ],
    defaultSize: undefined,
    steps: { min: 2, max: 30, default: undefined },
    seconds: undefined,
    defaultSeed: undefined,
    seedMax: 9_999_999_999,
  },
};

/** H.264 in the form that every player knows needs even sides. */
const SIDE_MULTIPLES = { image: 1, video: 2 };

export interface KnownIds {
  readonly providers: ReadonlySet<string>;
  /** The `runs` settings of each engine, by its id. */
  readonly engines: ReadonlyMap<string, RunSettings | undefined>;
}

/** The models for which the interface has a dedicated path, one for images and one for videos. */
const INTERFACE_MODELS: ReadonlyMap<string, ModelEndpoint> = new Map([
  ['image-turbo', 'image'],
  ['video-fast', 'video'],
]);

/** Prices that a charge has a line for. Any other would be published but never charged. */
const TEXT_PRICES: readonly PriceName[] = [
  'prompt',
  'completion',
  'request',
  'internal_reasoning',
  'input_cache_read',
  'input_cache_write',
];
const MEDIA_PRICES: readonly PriceName[] = ['request', 'image'];

const TEXT_PARAMETERS: Readonly<Record<'chat' | 'messages' | 'embeddings' | 'rerank', readonly string[]>> = {
  chat: [
    'max_tokens',
    'temperature',
    'top_p',
    'stop',
    'seed',
    'tools',
    'tool_choice',
    'response_format',
    'stream',
  ],
  messages: [
    'max_tokens',
    'temperature',
    'top_p',
    'top_k',
    'stop_sequences',
    'tools',
    'tool_choice',
    'stream',
  ],
  embeddings: ['dimensions', 'encoding_format'],
  rerank: ['top_n', 'return_documents'],
};

/** Builds a model from its entry in the file. Throws CatalogError (without the file name) for an inconsistent entry. */
export function buildModel(entry: ModelEntry, path: string, known: KnownIds): Model {
  const isText = entry.endpoints.some((endpoint) => endpoint !== 'video' && endpoint !== 'image');
  requireChargeable(entry, isText ? TEXT_PRICES : MEDIA_PRICES, path);
  const { second: _second, ...pricing } = entry.pricing;
  const part = isText ? textPart(entry, path, known) : mediaPart(entry, path, known);
  return {
    id: entry.id,
    aliases: entry.aliases,
    name: entry.name ?? entry.id,
    description: entry.description,
    categories: entry.categories,
    endpoints: [...new Set(entry.endpoints)],
    itemTokens: {
      image: entry.image_tokens,
      file: entry.file_tokens,
      audio: entry.audio_tokens,
      video: entry.video_tokens,
    },
    imagePixelsPerToken: entry.image_pixels_per_token,
    filePageTokens: entry.file_page_tokens,
    inputModalities: entry.input_modalities,
    tokenizer: entry.tokenizer,
    supportedParameters: entry.supported_parameters ?? defaultParameters(entry.endpoints, part.media),
    pricing,
    priceVersion: priceVersionId(entry.id, pricing, part.media && morePrices(part.media)),
    ...part,
  };
}

type Part = Pick<Model, 'contextLength' | 'maxOutputTokens' | 'routes' | 'engines' | 'media'>;

function textPart(entry: ModelEntry, path: string, known: KnownIds): Part {
  if (entry.endpoints.some((endpoint) => endpoint === 'video' || endpoint === 'image')) {
    throw new CatalogError(
      `${path}.endpoints: text endpoints cannot be combined with video or image; split the entry into two models`,
    );
  }
  if (entry.media || entry.pricing.second > 0n) {
    throw new CatalogError(
      `${path}.${entry.media ? 'media' : 'pricing.second'}: is only for image and video models`,
    );
  }
  const wordless = entry.endpoints.find((endpoint) => endpoint === 'embeddings' || endpoint === 'rerank');
  if (wordless && entry.endpoints.some((endpoint) => endpoint !== wordless)) {
    throw new CatalogError(`${path}.endpoints: a model with ${wordless} cannot serve anything else`);
  }
  const { context_length: contextLength } = entry;
  const maxOutputTokens = wordless ? 0 : entry.max_output_tokens;
  if (contextLength === undefined || maxOutputTokens === undefined) {
    const missing = contextLength === undefined ? 'context_length' : 'max_output_tokens';
    throw new CatalogError(`${path}.${missing}: is required for chat, messages, embeddings and rerank`);
  }
  if (maxOutputTokens > contextLength) {
    throw new CatalogError(`${path}.max_output_tokens: must not be larger than context_length`);
  }
  const routes = entry.routes.map((route, index): ProviderRoute => {
    if (!('provider' in route) || !known.providers.has(route.provider)) {
      throw new CatalogError(`${path}.routes[${index}].provider: must name one of providers`);
    }
    const { provider, model, pricing, drop, thinking } = route;
    const { tool_ids: toolIds, tool_calls: toolCalls, system_messages: systemMessages, turns } = route;
    return { provider, model, pricing, drop, thinking, toolIds, toolCalls, systemMessages, turns };
  });
  return { contextLength, maxOutputTokens, routes, engines: [], media: undefined };
}

function mediaPart(entry: ModelEntry, path: string, known: KnownIds): Part {
  if (entry.endpoints.length > 1) {
    throw new CatalogError(`${path}.endpoints: must be exactly one for an image or video model`);
  }
  const kind = entry.endpoints[0] === 'video' ? 'video' : 'image';
  requireOwnPath(entry, kind, path);
  const engines = engineRoutes(entry, kind, path, known);
  const media = mediaOptions(kind, entry, path);
  return { contextLength: entry.context_length ?? 0, maxOutputTokens: 0, routes: [], engines, media };
}

function engineRoutes(
  { routes }: ModelEntry,
  kind: 'image' | 'video',
  path: string,
  known: KnownIds,
): EngineRoute[] {
  return routes.map((route, index) => {
    const place = `${path}.routes[${index}]`;
    if (!('engine' in route) || !known.engines.has(route.engine)) {
      throw new CatalogError(`${place}.engine: must name one of engines`);
    }
    const { engine, model, runs, extra, when = index === 0 ? 'first' : 'unavailable' } = route;
    if (index === 0 && when !== 'first') {
      throw new CatalogError(`${place}.when: orders always start on the first route; set it on a later one`);
    }
    if (routes.findIndex((one) => 'engine' in one && one.engine === engine) < index) {
      throw new CatalogError(`${place}.engine: "${engine}" is used twice`);
    }
    return { engine, model, when, runs: runPolicy(kind, known.engines.get(engine), runs), extra };
  });
}

/** Protects the names that the interface reserves: /v3/async/video-fast and /v3/async/image-turbo have a fixed kind and fixed limits. */
function requireOwnPath(entry: ModelEntry, kind: 'image' | 'video', path: string): void {
  for (const name of [entry.id, ...entry.aliases]) {
    const fixed = INTERFACE_MODELS.get(name);
    if (fixed !== undefined && fixed !== kind) {
      throw new CatalogError(`${path}: ${name} is reserved for a model with endpoints: [${fixed}]`);
    }
    if (fixed !== undefined && entry.media) {
      throw new CatalogError(`${path}.media: the options of ${name} are fixed; give the model another name`);
    }
  }
}

function requireChargeable({ pricing }: ModelEntry, prices: readonly PriceName[], path: string): void {
  const free = PRICE_NAMES.find((name) => pricing[name] > 0n && !prices.includes(name));
  if (free !== undefined) {
    throw new CatalogError(`${path}.pricing.${free}: is never charged for this model; leave it out`);
  }
}

function defaultParameters(endpoints: readonly ModelEndpoint[], media: MediaOptions | undefined): string[] {
  const names = endpoints.flatMap((endpoint) => {
    switch (endpoint) {
      case 'video':
        return ['width', 'height', 'seed'];
      case 'image':
        return ['size', 'seed', 'enable_base64_output'];
      default:
        return TEXT_PARAMETERS[endpoint];
    }
  });
  return [...new Set([...names, ...(media?.steps ? ['steps'] : []), ...(media?.seconds ? ['seconds'] : [])])];
}

/**
 * Returns the options of a model's entry at `path`. Defaults for what its `media` omits: the interface's sizes for the kind, no steps, one
 * length. Throws CatalogError for an inconsistent entry.
 */
function mediaOptions(
  kind: 'image' | 'video',
  { media, pricing }: Pick<ModelEntry, 'media' | 'pricing'>,
  path: string,
): MediaOptions {
  const prices = { request: pricing.request, image: pricing.image, second: pricing.second };
  const own = media ? declared(kind, media, `${path}.media`) : STANDARD[kind];
  const pricesBySize = new Map<string, MediaPrices>();
  for (const [size, changed] of media?.prices ?? []) {
    if (!offersSize(own, size)) {
      throw new CatalogError(`${path}.media.prices: ${sizeText(size)} is not one of the sizes`);
    }
    pricesBySize.set(sizeText(size), {
      request: changed.request ?? prices.request,
      image: changed.image ?? prices.image,
      second: changed.second ?? prices.second,
    });
  }
  const all = [prices, ...pricesBySize.values()];
  if (own.seconds === undefined && all.some(({ second }) => second > 0n)) {
    throw new CatalogError(`${path}.pricing.second: needs media.seconds, the list of lengths offered`);
  }
  if (kind === 'video' && all.some(({ image }) => image > 0n)) {
    throw new CatalogError(`${path}.pricing.image: a video has no price per image; use request or second`);
  }
  return { ...own, declared: media !== undefined, prices, pricesBySize };
}

function declared(kind: 'image' | 'video', media: MediaEntry, path: string): Offer {
  const { sizes: listed, sides, default_size: named, steps, seconds } = media;
  if (listed && sides) {
    throw new CatalogError(`${path}.sides: give sizes or sides, not both`);
  }
  if (kind === 'image' && seconds) {
    throw new CatalogError(`${path}.seconds: an image has no length`);
  }
  const multiple = SIDE_MULTIPLES[kind];
  const odd = listed?.find(({ width, height }) => width % multiple > 0 || height % multiple > 0);
  if (odd) {
    throw new CatalogError(`${path}.sizes: ${sizeText(odd)} must have even sides, as every video`);
  }
  const sizes = listed ?? (sides && { ...sides, multiple }) ?? STANDARD[kind].sizes;
  const defaultSize = named ?? (areListed(sizes) ? sizes[0] : STANDARD[kind].defaultSize);
  if (defaultSize === undefined || !offersSize({ sizes }, defaultSize)) {
    throw new CatalogError(`${path}.default_size: must be one of the offered sizes`);
  }
  if (!areListed(sizes) && sizes.min > sizes.max) {
    throw new CatalogError(`${path}.sides.min: must not be larger than max`);
  }
  if (steps && !(steps.min <= steps.default && steps.default <= steps.max)) {
    throw new CatalogError(`${path}.steps.default: must be between min and max`);
  }
  return { sizes, defaultSize, steps, seconds, defaultSeed: -1, seedMax: STANDARD[kind].seedMax };
}

import { mediaOptions } from './build-media-options.ts';
import type { EngineRoute, Model, ModelEndpoint, ProviderRoute } from './catalog.types.ts';
import { CatalogError } from './catalog-error.ts';
import type { ModelEntry } from './catalog-file.schema.ts';
import { type MediaOptions, morePrices } from './media-options.ts';
import { PRICE_NAMES, type PriceName, priceVersionId } from './pricing.ts';
import { type RunSettings, runPolicy } from './run-policy.ts';

export interface KnownIds {
  readonly providers: ReadonlySet<string>;
  /** What each engine says of the runs on it, by its id. */
  readonly engines: ReadonlyMap<string, RunSettings | undefined>;
}

/** What the interface fixes: its own path for images, its own path for videos. */
const INTERFACE_MODELS: ReadonlyMap<string, ModelEndpoint> = new Map([
  ['image-turbo', 'image'],
  ['video-fast', 'video'],
]);

/** Prices that a charge has a line for; others would be published and never charged. */
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

/** A model out of its entry in the file. Throws CatalogError (without the file name) for what does not fit together. */
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
      `${path}.endpoints: a model serves chat and messages, or embeddings, or rerank, or video, or image`,
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
    const { provider, model, pricing, drop, thinking, tool_ids: toolIds } = route;
    return { provider, model, pricing, drop, thinking, toolIds };
  });
  return { contextLength, maxOutputTokens, routes, engines: [], media: undefined };
}

function mediaPart(entry: ModelEntry, path: string, known: KnownIds): Part {
  if (entry.endpoints.length > 1) {
    throw new CatalogError(`${path}.endpoints: an image or video model has exactly one`);
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
      throw new CatalogError(`${place}.when: orders go to the first route; set it on a later one`);
    }
    if (routes.findIndex((one) => 'engine' in one && one.engine === engine) < index) {
      throw new CatalogError(`${place}.engine: "${engine}" is used twice`);
    }
    return { engine, model, when, runs: runPolicy(kind, known.engines.get(engine), runs), extra };
  });
}

/** The interface says what is ordered at /v3/async/video-fast and /v3/async/image-turbo, and within which limits. */
function requireOwnPath(entry: ModelEntry, kind: 'image' | 'video', path: string): void {
  for (const name of [entry.id, ...entry.aliases]) {
    const fixed = INTERFACE_MODELS.get(name);
    if (fixed !== undefined && fixed !== kind) {
      throw new CatalogError(`${path}: ${name} is the name of a model with endpoints: [${fixed}]`);
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

import type { EngineRoute, Model, ModelEndpoint, ProviderRoute } from './catalog.types.ts';
import { CatalogError } from './catalog-error.ts';
import type { ModelEntry } from './catalog-file.schema.ts';
import { priceVersionId } from './pricing.ts';

export interface KnownIds {
  readonly providers: ReadonlySet<string>;
  readonly engines: ReadonlySet<string>;
}

const SUPPORTED_PARAMETERS: Readonly<Record<ModelEndpoint, readonly string[]>> = {
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
  video: ['width', 'height', 'seed', 'steps'],
  image: ['size', 'seed', 'enable_base64_output'],
};

/** A model out of its entry in the file. Throws CatalogError (without the file name) for what does not fit together. */
export function buildModel(entry: ModelEntry, path: string, known: KnownIds): Model {
  const isText = entry.endpoints.some((endpoint) => endpoint === 'chat' || endpoint === 'messages');
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
    inputModalities: entry.input_modalities,
    tokenizer: entry.tokenizer,
    supportedParameters: entry.supported_parameters ?? defaultParameters(entry.endpoints),
    pricing: entry.pricing,
    priceVersion: priceVersionId(entry.id, entry.pricing),
    ...(isText ? textPart(entry, path, known) : mediaPart(entry, path, known)),
  };
}

type Part = Pick<Model, 'contextLength' | 'maxOutputTokens' | 'routes' | 'engine'>;

function textPart(entry: ModelEntry, path: string, known: KnownIds): Part {
  if (entry.endpoints.some((endpoint) => endpoint === 'video' || endpoint === 'image')) {
    throw new CatalogError(`${path}.endpoints: a model serves chat and messages, or video, or image`);
  }
  const { context_length: contextLength, max_output_tokens: maxOutputTokens } = entry;
  if (contextLength === undefined || maxOutputTokens === undefined) {
    const missing = contextLength === undefined ? 'context_length' : 'max_output_tokens';
    throw new CatalogError(`${path}.${missing}: is required for chat and messages`);
  }
  if (maxOutputTokens > contextLength) {
    throw new CatalogError(`${path}.max_output_tokens: is larger than context_length`);
  }
  const routes = entry.routes.map((route, index): ProviderRoute => {
    if (!('provider' in route) || !known.providers.has(route.provider)) {
      throw new CatalogError(`${path}.routes[${index}].provider: must name one of providers`);
    }
    const { provider, model, pricing, drop, thinking } = route;
    return { provider, model, pricing, drop, thinking };
  });
  return { contextLength, maxOutputTokens, routes, engine: undefined };
}

function mediaPart(entry: ModelEntry, path: string, known: KnownIds): Part {
  const [route, second] = entry.routes;
  if (entry.endpoints.length > 1 || second) {
    const member = second ? 'routes' : 'endpoints';
    throw new CatalogError(`${path}.${member}: an image or video model has exactly one`);
  }
  if (!route || !('engine' in route) || !known.engines.has(route.engine)) {
    throw new CatalogError(`${path}.routes[0].engine: must name one of engines`);
  }
  const engine: EngineRoute = route;
  return { contextLength: entry.context_length ?? 0, maxOutputTokens: 0, routes: [], engine };
}

function defaultParameters(endpoints: readonly ModelEndpoint[]): string[] {
  return [...new Set(endpoints.flatMap((endpoint) => SUPPORTED_PARAMETERS[endpoint]))];
}

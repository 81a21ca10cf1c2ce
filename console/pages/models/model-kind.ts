import type { Model } from '../../api/types.gen.ts';

/** What a model is for. Models for chats also serve messages and responses. */
export type ModelKind = 'chat' | 'image' | 'video' | 'embeddings' | 'rerank';

/** The endpoints that the playground calls. */
const TRIED: readonly ModelKind[] = ['chat', 'image', 'video'];

const BY_ENDPOINT: Readonly<Record<string, ModelKind>> = {
  image: 'image',
  video: 'video',
  embeddings: 'embeddings',
  rerank: 'rerank',
};

/** Returns what a model is for. */
export function modelKind({ endpoints }: Pick<Model, 'endpoints'>): ModelKind {
  const [kind] = endpoints.flatMap((endpoint) => BY_ENDPOINT[endpoint] ?? []);
  return kind ?? 'chat';
}

/** Returns whether the playground offers a model; one that serves only messages is for chats, too, but not there. */
export function isTried(model: Pick<Model, 'endpoints'>): boolean {
  const kind = modelKind(model);
  return TRIED.includes(kind) && model.endpoints.includes(kind);
}

/** Returns the id of a model, then its aliases. */
export function idsOf({ id, aliases }: Pick<Model, 'id' | 'aliases'>): string[] {
  return [id, ...aliases];
}

/** Returns whether an id, alias or the name of a model contains a text, in capitals or not. */
export function matches(model: Pick<Model, 'id' | 'aliases' | 'name'>, text: string): boolean {
  const wanted = text.trim().toLowerCase();
  return [...idsOf(model), model.name].some((name) => name.toLowerCase().includes(wanted));
}

/**
 * Returns the prices of a model by item, in USD: those of an order and its seconds, in each size with prices of its own, for models that
 * generate images or videos; otherwise those of tokens and calls.
 */
export function pricesOf(
  model: Pick<Model, 'endpoints' | 'pricing' | 'media'>,
): Readonly<Record<string, string>> {
  const { media, pricing } = model;
  if (!media) {
    return { ...pricing };
  }
  const item = modelKind(model);
  const sized = Object.entries(media.price_by_size).flatMap(([size, { request, second }]) => [
    [`${size}.${item}`, request],
    [`${size}.second`, second],
  ]);
  return { [item]: media.price.request, second: media.price.second, ...Object.fromEntries(sized) };
}

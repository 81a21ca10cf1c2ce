import { CatalogError } from './catalog-error.ts';
import type { MediaEntry, ModelEntry } from './catalog-file.schema.ts';
import { areListed, type MediaOptions, type MediaPrices, offersSize, sizeText } from './media-options.ts';

type Offer = Omit<MediaOptions, 'prices' | 'pricesBySize' | 'declared'>;

/** What the interface fixes for image-turbo and video-fast, and what a model of either kind takes that declares nothing. */
const STANDARD: Readonly<Record<'image' | 'video', Offer>> = {
  image: {
    sizes: { min: 256, max: 1_536 },
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

/**
 * The options of a model's entry at `path`. Members that its `media` leaves out: sizes as the interface has them for the kind; no steps,
 * one length. Throws CatalogError for what does not fit together.
 */
export function mediaOptions(
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
  const sizes = listed ?? sides ?? STANDARD[kind].sizes;
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

import { formatPrice } from './pricing.ts';

/** Width and height in pixels. */
export interface MediaSize {
  readonly width: number;
  readonly height: number;
}

/** A range of whole numbers, both ends included. */
export interface IntegerRange {
  readonly min: number;
  readonly max: number;
}

/** What an order is billed for: pico-USD per order, per output image and per second of video. */
export interface MediaPrices {
  readonly request: bigint;
  readonly image: bigint;
  readonly second: bigint;
}

/** What an order of an image or video model may ask for. */
export interface MediaOptions {
  /** Whether tollgate.yaml says them; else they are those that the interface fixes for the kind. */
  readonly declared: boolean;
  /** The sizes on offer, or the range of either side in pixels. */
  readonly sizes: readonly MediaSize[] | IntegerRange;
  /** Undefined: an order must name its size. */
  readonly defaultSize: MediaSize | undefined;
  /** Denoising steps; undefined: the model takes none. `default` undefined: an order must name them. */
  readonly steps: (IntegerRange & { readonly default: number | undefined }) | undefined;
  /** Lengths on offer in seconds, the default first; undefined: one length, the engine's own. */
  readonly seconds: readonly number[] | undefined;
  /** Undefined: an order must name its seed; −1: one is drawn. */
  readonly defaultSeed: -1 | undefined;
  readonly seedMax: number;
  readonly prices: MediaPrices;
  /** Prices of sizes that cost something else, by {@link sizeText}. */
  readonly pricesBySize: ReadonlyMap<string, MediaPrices>;
}

/** `1024*1024`: how sizes are written on the wire and in tollgate.yaml. */
export function sizeText({ width, height }: MediaSize): string {
  return `${width}*${height}`;
}

/** Whether the sizes are listed, or any within a range is on offer. */
export function areListed(sizes: MediaOptions['sizes']): sizes is readonly MediaSize[] {
  return Array.isArray(sizes);
}

/** Whether a size is on offer. */
export function offersSize({ sizes }: Pick<MediaOptions, 'sizes'>, size: MediaSize): boolean {
  const text = sizeText(size);
  return areListed(sizes)
    ? sizes.some((one) => sizeText(one) === text)
    : [size.width, size.height].every((side) => side >= sizes.min && side <= sizes.max);
}

/** The prices of an order of that size. */
export function pricesOf({ prices, pricesBySize }: MediaOptions, size: MediaSize): MediaPrices {
  return pricesBySize.get(sizeText(size)) ?? prices;
}

/** What a model's pricing has besides its public members, by name, in USD: by the second and by size. Empty for most models. */
export function morePrices({ prices, pricesBySize }: MediaOptions): Record<string, string> {
  const second = prices.second > 0n ? [['second', formatPrice(prices.second)]] : [];
  const sized = [...pricesBySize].flatMap(([size, { request, image, second: perSecond }]) => [
    [`${size}.request`, formatPrice(request)],
    [`${size}.image`, formatPrice(image)],
    [`${size}.second`, formatPrice(perSecond)],
  ]);
  return Object.fromEntries([...second, ...sized]);
}

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

/** The sides in pixels that an order may ask for. */
export interface SideRange extends IntegerRange {
  /** Both sides must be multiples of this many pixels: 2 for videos, whose colors are stored for 2 × 2 pixels. */
  readonly multiple: number;
}

/** Prices of an order: pico-USD per order, per output image and per second of video. */
export interface MediaPrices {
  readonly request: bigint;
  readonly image: bigint;
  readonly second: bigint;
}

/** Options that an order of an image or video model may set, and their prices. */
export interface MediaOptions {
  /** Whether tollgate.yaml declares them; otherwise they are those the interface fixes for the kind. */
  readonly declared: boolean;
  /** The sizes on offer, or the range of width and height. */
  readonly sizes: readonly MediaSize[] | SideRange;
  /** Undefined if an order must set its size. */
  readonly defaultSize: MediaSize | undefined;
  /** Denoising steps; undefined if the model takes none. Their `default` is undefined if an order must set them. */
  readonly steps: (IntegerRange & { readonly default: number | undefined }) | undefined;
  /** Lengths on offer in seconds, the default first; undefined if the engine decides the length. */
  readonly seconds: readonly number[] | undefined;
  /** Undefined if an order must set its seed; −1 if a random one is drawn. */
  readonly defaultSeed: -1 | undefined;
  readonly seedMax: number;
  readonly prices: MediaPrices;
  /** Prices of sizes that differ from `prices`, by {@link sizeText}. */
  readonly pricesBySize: ReadonlyMap<string, MediaPrices>;
}

/** Formats a size as on the wire and in tollgate.yaml, e.g. `1024*1024`. */
export function sizeText({ width, height }: MediaSize): string {
  return `${width}*${height}`;
}

/** Returns whether the sizes are listed rather than given as a range. */
export function areListed(sizes: MediaOptions['sizes']): sizes is readonly MediaSize[] {
  return Array.isArray(sizes);
}

/** Returns whether a size is on offer. */
export function offersSize({ sizes }: Pick<MediaOptions, 'sizes'>, size: MediaSize): boolean {
  const text = sizeText(size);
  return areListed(sizes)
    ? sizes.some((one) => sizeText(one) === text)
    : [size.width, size.height].every(
        (side) => side >= sizes.min && side <= sizes.max && side % sizes.multiple === 0,
      );
}

/** Returns the prices of an order of that size. */
export function pricesOf({ prices, pricesBySize }: MediaOptions, size: MediaSize): MediaPrices {
  return pricesBySize.get(sizeText(size)) ?? prices;
}

/** Returns the prices besides the public members, by name, in USD: per second and per size. Empty for most models. */
export function morePrices({ prices, pricesBySize }: MediaOptions): Record<string, string> {
  const second = prices.second > 0n ? [['second', formatPrice(prices.second)]] : [];
  const sized = [...pricesBySize].flatMap(([size, { request, image, second: perSecond }]) => [
    [`${size}.request`, formatPrice(request)],
    [`${size}.image`, formatPrice(image)],
    [`${size}.second`, formatPrice(perSecond)],
  ]);
  return Object.fromEntries([...second, ...sized]);
}

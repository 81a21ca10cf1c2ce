import type { MediaOptions, Model } from '../../api/types.gen.ts';
import { picoUsd } from '../../lib/price.ts';

/** Sizes worth offering by name where a model takes any within a range. */
const COMMON_SIZES = ['1024*1024', '1536*1024', '1024*1536', '768*768', '512*512'];
/** Steps of models without a default of their own: few enough to be quick, enough to be sharp. */
const STEPS = 12;
const PICO_PER_NANO = 1_000n;

export type MediaKind = 'image' | 'video';

/** What the form lets people choose about an order, besides prompt and seed. */
export interface MediaChoice {
  readonly size: string;
  /** Empty if the model takes no steps. */
  readonly steps: string;
  /** Empty if the engine decides the length. */
  readonly seconds: string;
}

export interface MediaOrder extends MediaChoice {
  readonly prompt: string;
  readonly seed: string;
}

/** Returns the sizes to choose from. A wanted one that the model takes is among them. */
export function sizesOf(media: MediaOptions, wanted = ''): string[] {
  const { sizes, sides, default_size: usual, price_by_size: priced } = media;
  if (sizes) {
    return [...sizes];
  }
  const { min, max } = sides ?? { min: 0, max: 0 };
  const known = [...(usual === null ? [] : [usual]), ...COMMON_SIZES, ...Object.keys(priced), wanted];
  const fitting = [...new Set(known)].filter((size) => {
    const [width, height] = pixels(size);
    return [width, height].every((side) => side >= min && side <= max);
  });
  return fitting.length === 0 ? [`${min}*${min}`, `${max}*${max}`] : fitting;
}

/** Returns the first choice for a model. It keeps what the model offers of what is wanted, e.g. by a task that is run again. */
export function firstChoice(media: MediaOptions | null, wanted: Partial<MediaChoice>): MediaChoice {
  if (!media) {
    return { size: wanted.size ?? '', steps: '', seconds: '' };
  }
  const sizes = sizesOf(media, wanted.size);
  const size = [wanted.size, media.default_size].find((one) => one && sizes.includes(one));
  const seconds = (media.seconds ?? []).map(String);
  return {
    size: size ?? sizes[0] ?? '',
    steps: media.steps ? stepsOf(media.steps, wanted.steps) : '',
    seconds: seconds.find((length) => length === wanted.seconds) ?? seconds[0] ?? '',
  };
}

function stepsOf(
  { min, max, default: usual }: NonNullable<MediaOptions['steps']>,
  wanted: string | undefined,
): string {
  const steps = Number.parseInt(wanted ?? '', 10);
  return String(steps >= min && steps <= max ? steps : (usual ?? Math.min(max, Math.max(min, STEPS))));
}

/** Returns what an order costs, in nano-USD, rounded as the service charges it. */
export function priceOf(
  { media, pricing }: Pick<Model, 'media' | 'pricing'>,
  { size, seconds }: MediaChoice,
): bigint {
  const price = media?.price_by_size[size] ?? media?.price ?? { request: pricing.request, second: '0' };
  const length = BigInt(seconds === '' ? 0 : seconds);
  const pico = picoUsd(price.request) + length * picoUsd(price.second);
  return (pico + PICO_PER_NANO / 2n) / PICO_PER_NANO;
}

/** Returns the path at which a model is ordered: images at a path of the model's own, all videos at one. */
export function orderPath(kind: MediaKind, model: string): string {
  return kind === 'image' ? `/v3/async/${model}` : '/v3/async/video-fast';
}

/** Returns the body of an order, with only those members that the model takes. */
export function orderBody(kind: MediaKind, model: string, order: MediaOrder): object {
  const { prompt, size, steps, seconds, seed } = order;
  const [width, height] = pixels(size);
  return {
    ...(kind === 'image' ? { prompt, size } : { model_name: model, prompt, width, height }),
    ...(steps === '' ? {} : { steps: Number.parseInt(steps, 10) }),
    ...(seconds === '' ? {} : { seconds: Number.parseInt(seconds, 10) }),
    seed: seed.trim() === '' ? -1 : Number.parseInt(seed, 10),
  };
}

function pixels(size: string): [width: number, height: number] {
  const [width = 0, height = 0] = size.split('*').map((side) => Number.parseInt(side, 10) || 0);
  return [width, height];
}

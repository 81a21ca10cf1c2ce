import type { EngineRequest } from './engine.types.ts';

/**
 * Maps the task's seed to the engine's range, 0 to `max`: unchanged when it fits, else its remainder, so the same seed always gives the
 * same image.
 */
export function fitSeed(seed: bigint, max: number): number {
  return Number(seed % (BigInt(max) + 1n));
}

/** Returns width and height in pixels, rounded up to the engine's multiple. The excess is cropped later. */
export function fitSize(
  { width, height }: Pick<EngineRequest, 'width' | 'height'>,
  multiple: number,
): { width: number; height: number } {
  const roundUp = (side: number): number => Math.ceil(side / multiple) * multiple;
  return { width: roundUp(width), height: roundUp(height) };
}

/** Returns a body with the members that the route adds. Objects present in both are merged, all other values replaced. */
export function withExtra(body: object, extra: EngineRequest['extra']): Record<string, unknown> {
  const whole: Record<string, unknown> = { ...body };
  for (const [name, value] of Object.entries(extra ?? {})) {
    const present = whole[name];
    whole[name] = isObject(present) && isObject(value) ? withExtra(present, value) : value;
  }
  return whole;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

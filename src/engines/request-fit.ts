import type { EngineRequest } from './engine.types.ts';

/**
 * The task's seed within what an engine takes, 0 to `max`: itself where it fits, else its remainder, so that the same seed always
 * gives the same picture.
 */
export function fitSeed(seed: bigint, max: number): number {
  return Number(seed % (BigInt(max) + 1n));
}

/** Width and height in pixels, rounded up to the engine's multiple; what is over is cropped later. */
export function fitSize(
  { width, height }: Pick<EngineRequest, 'width' | 'height'>,
  multiple: number,
): { width: number; height: number } {
  const roundUp = (side: number): number => Math.ceil(side / multiple) * multiple;
  return { width: roundUp(width), height: roundUp(height) };
}

/** A body with what the route adds to it: members of objects in both are added to those there are, all others replaced. */
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

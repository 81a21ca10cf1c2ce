import type { Canvas } from '../canvas.ts';
import type { LinearRgb } from '../oklch.ts';
import type { Random } from '../random.ts';
import { latticeHash } from '../random.ts';

export interface StarOptions {
  /** Stars per million pixels of a picture with a 1024-pixel short side, before thinning by steps. */
  readonly density: number;
  readonly salt: number;
  readonly tint: LinearRgb;
  /** Fraction of the height below which no stars stand. */
  readonly horizon: number;
}

/** Adds stars of uneven brightness that twinkle once around the loop. */
export function addStars(canvas: Canvas, phase: number, options: StarOptions): void {
  const { width, height } = canvas;
  const shortSide = Math.min(width, height);
  const cell = Math.max(3, shortSide / Math.sqrt(options.density));
  const columns = Math.ceil(width / cell);
  const rows = Math.ceil((height * options.horizon) / cell);
  for (let row = 0; row < rows; row += 1) {
    for (let column = 0; column < columns; column += 1) {
      const chance = latticeHash(column, row, options.salt);
      if (chance < 0.42) {
        continue;
      }
      const x = (column + latticeHash(column, row, options.salt + 1)) * cell;
      const y = (row + latticeHash(column, row, options.salt + 2)) * cell;
      const magnitude = ((chance - 0.42) / 0.58) ** 9;
      const twinkle =
        0.8 + 0.2 * Math.sin(2 * Math.PI * (phase + latticeHash(column, row, options.salt + 3)));
      const fade = Math.min(1, 2.5 * Math.max(0, options.horizon - y / height));
      const radius = shortSide * (0.0005 + 0.0019 * magnitude);
      addDisc(
        canvas,
        x,
        y,
        radius,
        (0.1 + 0.25 * ((chance - 0.42) / 0.58) ** 2 + 2.6 * magnitude) * twinkle * fade,
        options.tint,
      );
    }
  }
}

/** Adds a soft round light. Radius in pixels; brightness in linear light at the centre. */
export function addDisc(
  canvas: Canvas,
  x: number,
  y: number,
  radius: number,
  brightness: number,
  tint: LinearRgb,
): void {
  const reach = Math.ceil(radius * 3 + 1);
  const x0 = Math.max(0, Math.floor(x - reach));
  const x1 = Math.min(canvas.width - 1, Math.ceil(x + reach));
  const y0 = Math.max(0, Math.floor(y - reach));
  const y1 = Math.min(canvas.height - 1, Math.ceil(y + reach));
  const falloff = 1 / (radius * radius + 0.2);
  for (let row = y0; row <= y1; row += 1) {
    for (let column = x0; column <= x1; column += 1) {
      const distance = ((column - x) ** 2 + (row - y) ** 2) * falloff;
      const value = brightness * Math.exp(-distance);
      const index = (row * canvas.width + column) * 3;
      for (let channel = 0; channel < 3; channel += 1) {
        canvas.light[index + channel] =
          (canvas.light[index + channel] as number) + value * (0.45 + 0.55 * (tint[channel] as number));
      }
    }
  }
}

export interface Ripples {
  readonly rate: number;
  readonly salt: number;
}

/** How the water of a picture moves. */
export function createRipples(random: Random): Ripples {
  return { rate: random.between(22, 36), salt: random.between(0, 6) };
}

/** Replaces what lies below the waterline (fraction of the height) by a rippled, darker mirror of what stands above. */
export function reflect(
  canvas: Canvas,
  waterline: number,
  tint: LinearRgb,
  ripples: Ripples,
  phase: number,
): void {
  const { width, height, light } = canvas;
  const shore = Math.floor(height * waterline);
  const shortSide = Math.min(width, height);
  const turn = phase * 2 * Math.PI;
  for (let y = shore; y < height; y += 1) {
    const depth = (y - shore) / (height - shore);
    const rows = y - shore;
    // Ripples stand closer together towards the far shore, as in perspective.
    const wave = Math.log(depth + 0.22) * ripples.rate;
    const lift = Math.sin(wave + turn * 2 + ripples.salt) * shortSide * 0.006 * (0.3 + depth);
    const mirrored = Math.max(0, Math.min(shore - 1, Math.round(shore - 1 - rows * 1.55 + lift)));
    const glance = 0.66 + 0.05 * Math.sin(wave * 1.7 - turn);
    for (let x = 0; x < width; x += 1) {
      const sway = Math.sin(wave * 0.73 + turn + x * (9 / shortSide)) * shortSide * 0.004 * (0.15 + depth);
      const column = Math.max(0, Math.min(width - 1, Math.round(x + sway)));
      const from = (mirrored * width + column) * 3;
      const to = (y * width + x) * 3;
      for (let channel = 0; channel < 3; channel += 1) {
        const water = (tint[channel] as number) * (0.05 + 0.1 * depth);
        light[to + channel] = (light[from + channel] as number) * glance * (1 - 0.35 * depth) + water;
      }
    }
  }
}

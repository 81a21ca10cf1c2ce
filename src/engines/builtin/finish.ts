import type { Canvas } from './canvas.ts';
import { latticeHash } from './random.ts';

const ENCODE_STEPS = 4096;
/** Linear light at and above which highlights roll off softly instead of clipping. */
const SHOULDER = 0.72;

export interface FinishOptions {
  /** Sharpness of the image, 0–1. */
  readonly detail: number;
  /** Strength of the glow around bright parts, 0–1. */
  readonly glow: number;
}

/** Turns linear light into 8-bit sRGB (width × height × 3 bytes): focus, glow, vignette, highlights, dither. */
export function finish(canvas: Canvas, options: FinishOptions): Uint8Array<ArrayBuffer> {
  const { width, height, light } = canvas;
  const shortSide = Math.min(width, height);
  const focus = Math.round((1 - options.detail) ** 1.5 * shortSide * 0.004);
  blur(light, width, height, 3, focus);
  blur(light, width, height, 3, focus);
  const bloom = brightParts(canvas);
  const radius = Math.max(1, Math.round(Math.min(bloom.width, bloom.height) * 0.035));
  blur(bloom.light, bloom.width, bloom.height, 3, radius);
  blur(bloom.light, bloom.width, bloom.height, 3, radius);
  return encode(canvas, bloom, options.glow);
}

const BLOOM_SCALE = 4;

interface Bloom {
  readonly width: number;
  readonly height: number;
  readonly light: Float32Array;
}

function brightParts(canvas: Canvas): Bloom {
  const width = Math.ceil(canvas.width / BLOOM_SCALE);
  const height = Math.ceil(canvas.height / BLOOM_SCALE);
  const light = new Float32Array(width * height * 3);
  for (let y = 0; y < height; y += 1) {
    const row = Math.min(canvas.height - 1, y * BLOOM_SCALE + 2) * canvas.width;
    for (let x = 0; x < width; x += 1) {
      const from = (row + Math.min(canvas.width - 1, x * BLOOM_SCALE + 2)) * 3;
      const to = (y * width + x) * 3;
      for (let channel = 0; channel < 3; channel += 1) {
        const value = canvas.light[from + channel] as number;
        light[to + channel] = Math.min(2.5, value * value);
      }
    }
  }
  return { width, height, light };
}

/** Applies a running mean along both axes, in time independent of the radius. Two passes are close enough to a Gaussian. */
function blur(light: Float32Array, width: number, height: number, channels: number, radius: number): void {
  if (radius < 1) {
    return;
  }
  const line = new Float32Array(Math.max(width, height));
  for (let channel = 0; channel < channels; channel += 1) {
    for (let y = 0; y < height; y += 1) {
      blurLine(light, line, y * width * channels + channel, channels, width, radius);
    }
    for (let x = 0; x < width; x += 1) {
      blurLine(light, line, x * channels + channel, width * channels, height, radius);
    }
  }
}

function blurLine(
  light: Float32Array,
  line: Float32Array,
  start: number,
  stride: number,
  length: number,
  radius: number,
): void {
  const share = 1 / (2 * radius + 1);
  let sum = 0;
  for (let index = 0; index < length; index += 1) {
    line[index] = light[start + index * stride] as number;
  }
  for (let offset = -radius; offset <= radius; offset += 1) {
    sum += line[Math.min(length - 1, Math.max(0, offset))] as number;
  }
  for (let index = 0; index < length; index += 1) {
    light[start + index * stride] = sum * share;
    const entering = line[index + radius + 1 < length ? index + radius + 1 : length - 1] as number;
    sum += entering - (line[index > radius ? index - radius : 0] as number);
  }
}

let encodeTable: Uint16Array | undefined;

// The table holds sRGB × 256 so dithering can add a fraction of a level before rounding down.
function srgbTable(): Uint16Array {
  encodeTable ??= Uint16Array.from({ length: ENCODE_STEPS + 1 }, (_, index) => {
    const linear = index / ENCODE_STEPS;
    const encoded = linear <= 0.0031308 ? 12.92 * linear : 1.055 * linear ** (1 / 2.4) - 0.055;
    return Math.round(encoded * 255 * 256);
  });
  return encodeTable;
}

function encode(canvas: Canvas, bloom: Bloom, glow: number): Uint8Array<ArrayBuffer> {
  const { width, height, light } = canvas;
  const table = srgbTable();
  const bytes = new Uint8Array(width * height * 3);
  const halo = new Float32Array(bloom.width * 3);
  const unitX = 1 / width;
  const unitY = 1 / height;
  for (let y = 0; y < height; y += 1) {
    haloOf(bloom, y, glow, halo);
    const vy = (y * unitY - 0.5) ** 2;
    for (let x = 0; x < width; x += 1) {
      const vignette = 1 - 0.55 * (vy + (x * unitX - 0.5) ** 2);
      const bx = Math.max(0, Math.min(bloom.width - 1.001, (x - 2) / BLOOM_SCALE));
      const left = Math.floor(bx);
      const fx = bx - left;
      const near = left * 3;
      const target = (y * width + x) * 3;
      const dither = latticeHash(x, y, 7) * 255;
      for (let channel = 0; channel < 3; channel += 1) {
        const a = halo[near + channel] as number;
        const b = halo[near + 3 + channel] as number;
        const value = ((light[target + channel] as number) + a + (b - a) * fx) * vignette;
        const rolled = value <= SHOULDER ? Math.max(0, value) : shoulder(value);
        bytes[target + channel] = ((table[(rolled * ENCODE_STEPS) | 0] as number) + dither) >> 8;
      }
    }
  }
  return bytes;
}

/** Writes into `halo` the glow of one row of the image, at the width of the bloom. */
function haloOf(bloom: Bloom, y: number, glow: number, halo: Float32Array): void {
  const position = Math.max(0, Math.min(bloom.height - 1.001, (y - 2) / BLOOM_SCALE));
  const top = Math.floor(position);
  const share = position - top;
  const start = top * halo.length;
  for (let index = 0; index < halo.length; index += 1) {
    const upper = bloom.light[start + index] as number;
    const lower = bloom.light[start + halo.length + index] as number;
    halo[index] = glow * (upper + (lower - upper) * share);
  }
}

function shoulder(value: number): number {
  const over = (value - SHOULDER) / (1 - SHOULDER);
  return SHOULDER + (1 - SHOULDER) * (over / (1 + over));
}

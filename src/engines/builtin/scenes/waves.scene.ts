import type { Canvas } from '../canvas.ts';
import { createNoiseField, sampleLinear, sampleSmooth } from '../noise-field.ts';
import { rampOffset } from '../palette.ts';
import type { Report, Scene, SceneInput } from '../scene.types.ts';

/** The upper edge of one layer: for each column its row, in fractional pixels from the top. */
type Crest = Float32Array;

interface Swell {
  readonly rate: number;
  readonly height: number;
  /** Whole turns per loop, so the motion is seamless. */
  readonly turns: number;
  readonly start: number;
  readonly shear: number;
}

/** Long curved bands rolling toward the viewer: sea, dunes or hills, depending on the colors. */
export function createWavesScene(input: SceneInput): Scene {
  const layout = drawLayout(input);
  return { paint: (canvas, phase, report) => paint(layout, canvas, phase, report) };
}

type Layout = ReturnType<typeof drawLayout>;

function drawLayout(input: SceneInput) {
  const { random, palette, detail, fieldSize } = input;
  const bandsMost = random.integer(10, 16);
  const bands = Math.round(5 + (bandsMost - 5) * detail);
  const top = random.between(0.1, 0.34);
  const tilt = random.between(-0.2, 0.2);
  const sunX = random.between(-0.3, 0.3);
  const sunRadius = random.between(0.07, 0.14);
  const falling = random.unit() < 0.5;
  const swells: Swell[] = Array.from({ length: 3 }, (_, index) => ({
    rate: random.between(1.6, 3.4) * (1 + index * 0.8),
    height: random.between(0.024, 0.05) / (1 + index * 0.9),
    turns: random.pick([-1, 1]),
    start: random.between(0, 6.28),
    shear: random.between(0.35, 0.9),
  }));
  const grain = createNoiseField(random, { size: fieldSize, cells: 8, octaves: 1 + 5 * detail, gain: 0.62 });
  const drift = createNoiseField(random, { size: 256, cells: 4, octaves: 2, gain: 0.5 });
  return {
    palette,
    detail,
    bands,
    top,
    tilt,
    sunX,
    sunRadius,
    falling,
    swells,
    grain,
    drift,
  };
}

function paint(layout: Layout, canvas: Canvas, phase: number, report: Report): void {
  const { bands } = layout;
  const crests = Array.from({ length: bands }, (_, band) => crestOf(layout, canvas, band, phase));
  const limits = hiddenFrom(crests, canvas.height);
  paintSky(layout, canvas, skyRows(crests[0], canvas.height));
  report(0.2);
  for (const [band, crest] of crests.entries()) {
    paintBand(layout, canvas, band, crest, limits[band] ?? new Int32Array());
    report(0.2 + (0.75 * (band + 1)) / bands);
  }
  report(1);
}

function paintSky(layout: Layout, canvas: Canvas, rows: number): void {
  const { palette, top, sunX, sunRadius } = layout;
  const { width, height, light } = canvas;
  const unit = 1 / Math.min(width, height);
  const centreY = (top - 0.02) * height;
  for (let y = 0; y < rows; y += 1) {
    const offset = rampOffset(0.7 + 0.3 * (y / height / (top + 0.2)));
    for (let x = 0; x < width; x += 1) {
      const sx = (x - width * (0.5 + sunX)) * unit;
      const sy = (y - centreY) * unit;
      const distance = Math.sqrt(sx * sx + sy * sy);
      const disc = Math.min(1, Math.max(0, (sunRadius - distance) / (unit * 1.6) + 0.5));
      const halo = 0.4 * Math.exp(-distance * 6);
      const index = (y * width + x) * 3;
      for (let channel = 0; channel < 3; channel += 1) {
        const sky = palette.ramp[offset + channel] as number;
        const sun = 0.55 * (palette.accent[channel] as number) + 0.5 * (palette.light[channel] as number);
        light[index + channel] = sky + (sun - sky) * Math.max(disc, halo);
      }
    }
  }
}

function crestOf(layout: Layout, canvas: Canvas, band: number, phase: number): Crest {
  const { swells, drift, bands, top, tilt } = layout;
  const { width, height } = canvas;
  const unit = 1 / Math.min(width, height);
  const near = band / (bands - 1);
  const turn = phase * 2 * Math.PI;
  const base = top + (1.02 - top) * near ** 1.3;
  return Float32Array.from({ length: width }, (_, x) => {
    const px = (x - width / 2) * unit;
    let swing = 0.05 * sampleSmooth(drift, px * 0.2 + band * 0.13, band * 0.29);
    for (const swell of swells) {
      const position = px * swell.rate * (1.5 - 0.7 * near) + swell.start + band * swell.shear;
      swing += swell.height * Math.sin(position + turn * swell.turns);
    }
    return (base + tilt * px * 0.3 * (1 - near)) * height + (swing * (0.4 + 1.1 * near)) / unit;
  });
}

function paintBand(layout: Layout, canvas: Canvas, band: number, crest: Crest, limit: Int32Array): void {
  const { palette, bands, falling, grain } = layout;
  const { width, height, light } = canvas;
  const unit = 1 / Math.min(width, height);
  const near = band / (bands - 1);
  const depth = (0.05 + 0.2 * near) * (14 / (bands + 2));
  const tone = falling ? 0.92 - 0.84 * near : 0.16 + 0.7 * Math.abs(Math.sin(near * 2.6 + 0.3));
  for (let x = 0; x < width; x += 1) {
    const px = (x - width / 2) * unit;
    const top = crest[x] as number;
    const last = limit[x] as number;
    for (let y = Math.max(0, Math.floor(top)); y < last; y += 1) {
      const cover = Math.min(1, y + 1 - top);
      const below = Math.max(0, y - top) * unit;
      const fall = Math.min(1, below / depth);
      const fleck = sampleLinear(grain, px * 0.22 + band * 0.37, below * (1.1 - 0.5 * near) + band * 0.21);
      const rim = Math.exp(-below * 130) * 0.34 + Math.exp(-below * 22) * 0.16;
      const offset = rampOffset(tone + 0.09 - 0.2 * fall + 0.045 * fleck);
      const shade = 1 - 0.32 * fall;
      const index = (y * width + x) * 3;
      for (let channel = 0; channel < 3; channel += 1) {
        const body = (palette.ramp[offset + channel] as number) * shade;
        const value = body + ((palette.light[channel] as number) - body) * rim;
        const before = light[index + channel] as number;
        light[index + channel] = before + (value - before) * cover;
      }
    }
  }
}

/**
 * For layers from far to near, returns for each column the row from which nearer layers hide everything: painting below it is wasted. The
 * nearer crest's own row is included, because its edge is blended with what is behind it.
 */
function hiddenFrom(crests: readonly Crest[], height: number): Int32Array[] {
  const limits: Int32Array[] = [];
  let nearer: Int32Array | undefined;
  for (const crest of [...crests].reverse()) {
    const limit = nearer ?? new Int32Array(crest.length).fill(height);
    limits.unshift(limit);
    nearer = limit.map((row, x) => Math.max(0, Math.min(row, Math.floor(crest[x] as number) + 1)));
  }
  return limits;
}

/** Returns the row where the sky ends: everything below it is hidden in every column. */
function skyRows(crest: Crest | undefined, height: number): number {
  let lowest = 0;
  for (const row of crest ?? [height]) {
    lowest = Math.max(lowest, row);
  }
  return Math.min(height, Math.ceil(lowest) + 1);
}

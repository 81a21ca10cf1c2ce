import type { Canvas } from '../canvas.ts';
import { createNoiseField, sampleLinear, sampleSmooth } from '../noise-field.ts';
import type { Report, Scene, SceneInput } from '../scene.types.ts';
import { addStars, createRipples, reflect } from './sky.ts';

interface Curtain {
  readonly base: number;
  readonly sway: number;
  readonly origin: number;
  readonly length: number;
  readonly strength: number;
  readonly lean: number;
}

/** Tiles of noise per short side along a curtain. */
const PACE = 0.17;
/** Tiles a curtain leans over the height of the picture. */
const LEAN_MAX = 0.12;
const STEPS_PER_TILE = 16_384;
/** Deep blue, linear: a night sky under any palette. */
const NIGHT = [0.006, 0.011, 0.03] as const;

/** Curtains of light over a dark land, stars behind, still water in front. */
export function createAuroraScene(input: SceneInput): Scene {
  const layout = drawLayout(input);
  return { paint: (canvas, phase, report) => paint(layout, canvas, phase, report) };
}

type Layout = ReturnType<typeof drawLayout>;

function drawLayout(input: SceneInput) {
  const { random, palette, detail, fieldSize } = input;
  const curtains: Curtain[] = Array.from({ length: random.integer(3, 5) }, (_, index) => ({
    base: random.between(0.38, 0.64) - index * 0.045,
    sway: random.between(0.08, 0.2),
    origin: random.unit(),
    length: random.between(0.16, 0.42),
    strength: random.between(0.35, 0.8),
    lean: random.between(-LEAN_MAX, LEAN_MAX),
  }));
  const skyline = random.between(0.7, 0.78);
  const waterline = random.unit() < 0.7 ? skyline + random.between(0.03, 0.05) : 1;
  const salt = random.integer(1, 100_000);
  const ripples = createRipples(random);
  const folds = createNoiseField(random, { size: 512, cells: 4, octaves: 2 + 2 * detail, gain: 0.42 });
  const rays = createNoiseField(random, { size: fieldSize, cells: 16, octaves: 1 + 3 * detail, gain: 0.62 });
  const land = createNoiseField(random, { size: fieldSize, cells: 4, octaves: 2 + 5 * detail, gain: 0.52 });
  return {
    palette,
    detail,
    curtains,
    skyline,
    waterline,
    salt,
    ripples,
    folds,
    rays,
    land,
  };
}

function paint(layout: Layout, canvas: Canvas, phase: number, report: Report): void {
  const { palette, detail, skyline, waterline, salt, ripples } = layout;
  paintSky(layout, canvas, report, phase);
  addStars(canvas, phase, {
    density: 1500 * (0.25 + 0.75 * detail),
    salt,
    tint: palette.light,
    horizon: skyline,
  });
  paintLand(layout, canvas);
  if (waterline < 1) {
    reflect(canvas, waterline, palette.deep, ripples, phase);
  }
  report(1);
}

function paintSky(layout: Layout, canvas: Canvas, report: Report, phase: number): void {
  const { palette, curtains, skyline, rays } = layout;
  const { width, height, light } = canvas;
  const unit = 1 / Math.min(width, height);
  const turn = phase * 2 * Math.PI;
  const circleX = 0.02 * Math.cos(turn);
  const circleY = 0.02 * Math.sin(turn);
  const reach = (PACE * width * unit) / 2 + LEAN_MAX;
  const lines = curtains.map((curtain) => drawLine(layout, curtain, reach, circleX, circleY));
  // Below its foot the land hides the sky in every column.
  const rows = Math.min(height, Math.ceil((skyline + 0.04) * height) + 1);
  for (let y = 0; y < rows; y += 1) {
    const t = y / height;
    const horizonGlow = Math.exp(-((t - skyline) ** 2) * 22);
    for (let x = 0; x < width; x += 1) {
      const px = (x - width / 2) * unit;
      let low = 0;
      let high = 0;
      for (const { curtain, folds, patches } of lines) {
        const along = px * PACE + curtain.lean * (t - 0.5);
        const step = ((along + reach) * STEPS_PER_TILE) | 0;
        const fold = folds[step] as number;
        const patch = patches[step] as number;
        const rise = (curtain.base + curtain.sway * fold - t) / curtain.length;
        if (rise < -0.4 || patch <= 0) {
          continue;
        }
        const u = along + curtain.origin + circleX;
        const ray =
          0.55 + 0.9 * sampleLinear(rays, u * 1.1 + fold * 0.16, curtain.origin + t * 0.06 + circleY);
        // One exponential serves all three falloffs; this runs for every curtain and pixel.
        const fading = rise < 0 ? 1 : Math.exp(-0.65 * rise);
        const cube = fading * fading * fading;
        const body = rise < 0 ? Math.exp(rise * 24) : cube;
        const glow = curtain.strength * patch * body * Math.max(0.08, ray);
        low += glow * cube;
        high += 0.75 * glow * (1 - fading * fading) * fading;
      }
      const index = (y * width + x) * 3;
      for (let channel = 0; channel < 3; channel += 1) {
        const night = (NIGHT[channel] as number) + (palette.deep[channel] as number) * 0.35;
        const deep = night * (0.45 + 0.75 * t);
        const warm = (palette.main[channel] as number) * horizonGlow * 0.1;
        light[index + channel] =
          deep +
          warm +
          (palette.main[channel] as number) * low +
          (palette.secondAccent[channel] as number) * high;
      }
    }
    report((0.8 * y) / rows);
  }
}

interface CurtainLine {
  readonly curtain: Curtain;
  /** How far the curtain sways, and how bright it is, along its length. */
  readonly folds: Float32Array;
  readonly patches: Float32Array;
}

// A curtain's course depends on one coordinate only: drawn once per frame instead of once per pixel.
function drawLine(
  layout: Layout,
  curtain: Curtain,
  reach: number,
  circleX: number,
  circleY: number,
): CurtainLine {
  const length = Math.ceil(2 * reach * STEPS_PER_TILE) + 2;
  const { origin } = curtain;
  const at = (step: number) => step / STEPS_PER_TILE - reach + origin + circleX;
  const folds = Float32Array.from({ length }, (_, step) =>
    sampleSmooth(layout.folds, at(step), origin + circleY),
  );
  const patches = Float32Array.from({ length }, (_, step) => {
    return 0.55 + 0.9 * sampleLinear(layout.folds, at(step) * 0.8 + 0.4, origin + 0.5 - circleX);
  });
  return { curtain, folds, patches };
}

function paintLand(layout: Layout, canvas: Canvas): void {
  const { palette, skyline, land } = layout;
  const { width, height, light } = canvas;
  const unit = 1 / Math.min(width, height);
  for (let layer = 0; layer < 3; layer += 1) {
    const dim = 0.034 - 0.013 * layer;
    for (let x = 0; x < width; x += 1) {
      const px = (x - width / 2) * unit;
      const crag = Math.abs(sampleLinear(land, px * (0.2 + 0.05 * layer) + layer * 0.3, 0.21 * (layer + 1)));
      const crest = (skyline + 0.018 * layer - 0.13 * crag * (1 - 0.25 * layer)) * height;
      const first = Math.max(0, Math.floor(crest));
      for (let y = first; y < height; y += 1) {
        const cover = Math.min(1, y + 1 - crest);
        const mist = Math.min(1, (Math.max(0, y - crest) * unit) / 0.22) * 0.1 * (1 - layer * 0.3);
        const index = (y * width + x) * 3;
        for (let channel = 0; channel < 3; channel += 1) {
          const rock =
            (palette.secondAccent[channel] as number) * dim + (palette.main[channel] as number) * mist;
          light[index + channel] = (light[index + channel] as number) * (1 - cover) + rock * cover;
        }
      }
    }
  }
}

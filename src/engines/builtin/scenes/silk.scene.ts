import type { Canvas } from '../canvas.ts';
import { createNoiseField, sampleLinear, sampleSmooth } from '../noise-field.ts';
import { rampOffset } from '../palette.ts';
import type { Report, Scene, SceneInput } from '../scene.types.ts';

/**
 * Folds of cloth: noise bent by noise (domain warping, iquilezles.org/articles/warp), lit from one side like a surface.
 */
export function createSilkScene(input: SceneInput): Scene {
  const layout = drawLayout(input);
  return { paint: (canvas, phase, report) => paint(layout, canvas, phase, report) };
}

type Layout = ReturnType<typeof drawLayout>;

function drawLayout(input: SceneInput) {
  const { random, palette, detail, fieldSize } = input;
  const angle = random.between(0, Math.PI);
  const scale = random.between(0.2, 0.34);
  const stretch = random.between(1.2, 2.4);
  const bend = random.between(0.16, 0.3);
  const fold = random.between(0.14, 0.26);
  const lightAngle = random.between(-2.6, -0.6);
  const swing = random.between(0.25, 0.4);
  const tones = random.between(0.26, 0.34);
  const originX = random.unit();
  const originY = random.unit();
  const first = createNoiseField(random, { size: 512, cells: 4, octaves: 2, gain: 0.45 });
  const second = createNoiseField(random, { size: 512, cells: 4, octaves: 2, gain: 0.45 });
  const cloth = createNoiseField(random, { size: fieldSize, cells: 4, octaves: 2 + 4 * detail, gain: 0.46 });
  const cosine = Math.cos(angle);
  const sine = Math.sin(angle);
  return {
    palette,
    detail,
    scale,
    stretch,
    bend,
    fold,
    lightAngle,
    swing,
    tones,
    originX,
    originY,
    first,
    second,
    cloth,
    cosine,
    sine,
  };
}

function paint(layout: Layout, canvas: Canvas, phase: number, report: Report): void {
  const { palette, lightAngle, swing, tones } = layout;
  bendPlanes(layout, canvas, phase, report);
  const { width, height, light, relief, tint } = canvas;
  const slope = Math.min(width, height) * 0.055;
  const lx = Math.cos(lightAngle) * 0.62;
  const ly = Math.sin(lightAngle) * 0.62;
  for (let y = 0; y < height; y += 1) {
    const up = (y === 0 ? 0 : y - 1) * width;
    const down = (y === height - 1 ? y : y + 1) * width;
    for (let x = 0; x < width; x += 1) {
      const index = y * width + x;
      const left = relief[x === 0 ? index : index - 1] as number;
      const right = relief[x === width - 1 ? index : index + 1] as number;
      const dx = (right - left) * slope;
      const dy = ((relief[down + x] as number) - (relief[up + x] as number)) * slope;
      const length = 1 / Math.sqrt(dx * dx + dy * dy + 1);
      const facing = (0.78 - dx * lx - dy * ly) * length;
      const half = (0.943 - dx * lx * 0.53 - dy * ly * 0.53) * length;
      const gloss = half > 0 ? power32(half) : 0;
      const value = relief[index] as number;
      const offset = rampOffset(0.47 + tones * value + swing * (tint[index] as number));
      const shade = 0.34 + 0.85 * Math.max(0, facing);
      const glint = 0.2 * gloss;
      const rim = 0.1 * Math.max(0, 0.25 - facing);
      for (let channel = 0; channel < 3; channel += 1) {
        light[index * 3 + channel] =
          (palette.ramp[offset + channel] as number) * shade +
          (palette.light[channel] as number) * glint +
          (palette.accent[channel] as number) * rim;
      }
    }
    report(0.75 + (0.25 * y) / height);
  }
}

function bendPlanes(layout: Layout, canvas: Canvas, phase: number, report: Report): void {
  const { scale, stretch, bend, fold, originX, originY, first, second, cloth, cosine, sine } = layout;
  const { width, height, relief, tint } = canvas;
  const unit = 1 / Math.min(width, height);
  const turn = phase * 2 * Math.PI;
  const driftX = 0.022 * Math.cos(turn) + originX;
  const driftY = 0.022 * Math.sin(turn) + originY;
  for (let y = 0; y < height; y += 1) {
    const py = (y - height / 2) * unit;
    for (let x = 0; x < width; x += 1) {
      const px = (x - width / 2) * unit;
      const u = (cosine * px + sine * py) * scale;
      const v = (cosine * py - sine * px) * scale * stretch;
      const a = sampleLinear(first, u + driftX, v + driftY);
      const b = sampleLinear(second, u - driftY, v + driftX);
      const c = sampleLinear(second, u + bend * a + driftY, v + bend * b - driftX);
      const index = y * width + x;
      relief[index] = sampleSmooth(
        cloth,
        u + fold * c + originY,
        v + fold * (a - b) * 0.6 + bend * c + originX,
      );
      tint[index] = c * 0.6 + a * 0.4;
    }
    report((0.75 * y) / height);
  }
}

// Five products instead of a general power: this runs once per pixel.
function power32(value: number): number {
  const second = value * value;
  const fourth = second * second;
  const eighth = fourth * fourth;
  return eighth * eighth * (eighth * eighth);
}

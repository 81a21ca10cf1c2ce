import type { Canvas } from '../canvas.ts';
import { createNoiseField, sampleLinear, sampleSmooth } from '../noise-field.ts';
import { rampOffset } from '../palette.ts';
import type { Report, Scene, SceneInput } from '../scene.types.ts';

/** Stacked sheets of colored paper, cut along the contours of a landscape, each casting a soft shadow. */
export function createPaperScene(input: SceneInput): Scene {
  const layout = drawLayout(input);
  return { paint: (canvas, phase, report) => paint(layout, canvas, phase, report) };
}

type Layout = ReturnType<typeof drawLayout>;

function drawLayout(input: SceneInput) {
  const { random, palette, detail, fieldSize } = input;
  const layersMost = random.integer(9, 13);
  const layers = Math.round(5 + (layersMost - 5) * detail);
  const scale = random.between(0.2, 0.32);
  const bend = random.between(0.03, 0.09);
  const form = random.pick(['bowl', 'slope', 'ridge'] as const);
  const formAngle = random.between(0, 2 * Math.PI);
  const centreX = random.between(-0.25, 0.25);
  const centreY = random.between(-0.22, 0.22);
  const reversed = random.unit() < 0.4;
  const accentLayer = random.integer(2, 5);
  const originX = random.unit();
  const originY = random.unit();
  const bends = createNoiseField(random, { size: 512, cells: 4, octaves: 2, gain: 0.5 });
  const contour = createNoiseField(random, {
    size: fieldSize,
    cells: 4,
    octaves: 1.4 + 2.4 * detail,
    gain: 0.4,
  });
  const fibre = createNoiseField(random, { size: 256, cells: 32, octaves: 2, gain: 0.8 });
  const formX = Math.cos(formAngle);
  const formY = Math.sin(formAngle);
  return {
    palette,
    detail,
    layers,
    scale,
    bend,
    form,
    centreX,
    centreY,
    reversed,
    accentLayer,
    originX,
    originY,
    bends,
    contour,
    fibre,
    formX,
    formY,
  };
}

function paint(layout: Layout, canvas: Canvas, phase: number, report: Report): void {
  const { palette, detail, layers, reversed, accentLayer, fibre } = layout;
  raiseSheets(layout, canvas, phase, report);
  const { width, height, light, relief } = canvas;
  const unit = 1 / Math.min(width, height);
  const reach = Math.min(width, height) * 0.0075;
  for (let y = 0; y < height; y += 1) {
    const below = y === height - 1 ? y : y + 1;
    for (let x = 0; x < width; x += 1) {
      const index = y * width + x;
      const value = relief[index] as number;
      const right = relief[x === width - 1 ? index : index + 1] as number;
      const slope = Math.abs(right - value) + Math.abs((relief[below * width + x] as number) - value) + 1e-5;
      const level = Math.floor(value);
      const toEdge = (value - level) / slope;
      const edge = toEdge < 1.6 ? 1 - toEdge / 1.6 : 0;
      const blend = Math.min(1, toEdge);
      const shade =
        (1 - 0.62 * shadowAt(canvas, x, y, level, reach)) *
        (1 + 0.05 * sampleLinear(fibre, x * unit * 0.9, y * unit * 0.9) * (0.3 + 0.7 * detail)) *
        (1 + 0.07 * (value - level));
      const position = Math.min(1, Math.max(0, (level - 0.2 + blend * 0.2) / (layers * 1.02)));
      const offset = rampOffset(reversed ? 1 - position : position);
      const accent = level === accentLayer ? 0.82 : 0;
      for (let channel = 0; channel < 3; channel += 1) {
        const sheet =
          (palette.ramp[offset + channel] as number) * (1 - accent) +
          (palette.accent[channel] as number) * accent;
        light[index * 3 + channel] = sheet * shade * (1 + 0.3 * edge) + 0.03 * edge;
      }
    }
    report(0.6 + (0.4 * y) / height);
  }
}

function shape(layout: Layout, px: number, py: number): number {
  const { form, centreX, centreY, formX, formY } = layout;
  if (form === 'bowl') {
    return Math.sqrt((px - centreX) ** 2 + (py - centreY) ** 2) * 1.15;
  }
  const along = px * formX + py * formY;
  return form === 'slope' ? 0.5 + along * 0.75 : 1 - Math.abs(along - centreX) * 1.35;
}

function raiseSheets(layout: Layout, canvas: Canvas, phase: number, report: Report): void {
  const { layers, scale, bend, originX, originY, bends, contour } = layout;
  const { width, height, relief } = canvas;
  const unit = 1 / Math.min(width, height);
  const turn = phase * 2 * Math.PI;
  const driftX = 0.022 * Math.cos(turn);
  const driftY = 0.022 * Math.sin(turn);
  for (let y = 0; y < height; y += 1) {
    const py = (y - height / 2) * unit;
    for (let x = 0; x < width; x += 1) {
      const px = (x - width / 2) * unit;
      const u = px * scale + originX;
      const v = py * scale + originY;
      const a = sampleLinear(bends, u + driftX, v + driftY);
      const b = sampleLinear(bends, v - driftY + 0.37, u + driftX + 0.71);
      const hills = sampleSmooth(contour, u + bend * a + driftY * 0.5, v + bend * b + driftX * 0.5);
      relief[y * width + x] = (shape(layout, px, py) + 0.36 * hills) * layers;
    }
    report((0.6 * y) / height);
  }
}

function shadowAt(canvas: Canvas, x: number, y: number, level: number, reach: number): number {
  let shadow = 0;
  for (let step = 1; step <= 4; step += 1) {
    const sx = Math.max(0, x - Math.round(reach * step * 0.55));
    const sy = Math.max(0, y - Math.round(reach * step));
    const above = (canvas.relief[sy * canvas.width + sx] as number) - (level + 1);
    shadow += (above > 0 ? 1 : above > -0.15 ? 1 + above / 0.15 : 0) * (0.34 - 0.06 * step);
  }
  return shadow;
}

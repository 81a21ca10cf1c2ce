import type { Canvas } from '../canvas.ts';
import { createNoiseField, sampleLinear, sampleSmooth } from '../noise-field.ts';
import type { LinearRgb } from '../oklch.ts';
import { latticeHash } from '../random.ts';
import type { Report, Scene, SceneInput } from '../scene.types.ts';

/** Glowing gas and dark dust around a few bright stars. */
export function createNebulaScene(input: SceneInput): Scene {
  const layout = drawLayout(input);
  return { paint: (canvas, phase, report) => paint(layout, canvas, phase, report) };
}

type Layout = ReturnType<typeof drawLayout>;

function drawLayout(input: SceneInput) {
  const { random, palette, detail, fieldSize } = input;
  const angle = random.between(0, Math.PI);
  const scale = random.between(0.2, 0.3);
  const squash = random.between(1.1, 2.2);
  const bend = random.between(0.1, 0.2);
  const arm = random.between(-0.25, 0.25);
  const band = random.between(2.2, 5);
  const salt = random.integer(1, 100_000);
  const suns = Array.from({ length: random.integer(2, 5) }, () => ({
    x: random.between(0.12, 0.88),
    y: random.between(0.12, 0.88),
    size: random.between(0.003, 0.006),
  }));
  const originX = random.unit();
  const originY = random.unit();
  const bends = createNoiseField(random, { size: 512, cells: 4, octaves: 3, gain: 0.5 });
  const gas = createNoiseField(random, { size: fieldSize, cells: 4, octaves: 2 + 4.5 * detail, gain: 0.52 });
  const dust = createNoiseField(random, {
    size: fieldSize,
    cells: 4,
    octaves: 1.5 + 4.5 * detail,
    gain: 0.5,
    ridged: true,
  });
  const cosine = Math.cos(angle);
  const sine = Math.sin(angle);
  return {
    palette,
    detail,
    scale,
    squash,
    bend,
    arm,
    band,
    salt,
    suns,
    originX,
    originY,
    bends,
    gas,
    dust,
    cosine,
    sine,
  };
}

function paint(layout: Layout, canvas: Canvas, phase: number, report: Report): void {
  const { palette, detail, salt, suns } = layout;
  paintGas(layout, canvas, phase, report);
  const shortSide = Math.min(canvas.width, canvas.height);
  const density = 2400 * (0.2 + 0.8 * detail);
  addStars(canvas, phase, { density, salt, tint: palette.light, horizon: 2 });
  for (const sun of suns) {
    const pulse = 1 + 0.08 * Math.sin(2 * Math.PI * (phase + sun.x));
    const x = sun.x * canvas.width;
    const y = sun.y * canvas.height;
    addDisc(canvas, x, y, shortSide * sun.size, 3.2 * pulse, palette.light);
    addDisc(canvas, x, y, shortSide * sun.size * 6, 0.3 * pulse, palette.accent);
  }
  report(1);
}

/** Side of a cell of gas in pixels. Gas is so soft that a large image shows no difference, and most of its time is spent on it. */
const CELL = 2;
/** The shorter side in pixels from which an image is large. */
const CELL_FROM_SIDE = 640;

/** The gas at the corners of the cells: light through dust, light of the core, mixture of the hues. */
interface Gas {
  readonly cell: number;
  readonly columns: number;
  readonly values: Float32Array;
}

const VALUES = 3;

function gasAt(layout: Layout, canvas: Canvas, phase: number, report: Report): Gas {
  const { scale, squash, bend, arm, band, originX, originY, bends, gas, dust, cosine, sine } = layout;
  const { width, height } = canvas;
  const shortSide = Math.min(width, height);
  const cell = shortSide < CELL_FROM_SIDE ? 1 : CELL;
  const unit = 1 / shortSide;
  const turn = phase * 2 * Math.PI;
  const circleX = 0.018 * Math.cos(turn);
  const circleY = 0.018 * Math.sin(turn);
  const columns = Math.ceil(width / cell) + 1;
  const rows = Math.ceil(height / cell) + 1;
  const values = new Float32Array(columns * rows * VALUES);
  for (let row = 0; row < rows; row += 1) {
    const py = (row * cell - height / 2) * unit;
    for (let column = 0; column < columns; column += 1) {
      const px = (column * cell - width / 2) * unit;
      const along = cosine * px + sine * py;
      const across = cosine * py - sine * px;
      const u = along * scale + originX;
      const v = across * scale * squash + originY;
      const a = sampleLinear(bends, u + circleX, v + circleY);
      const b = sampleLinear(bends, v - circleY, u + circleX + 0.4);
      const cloud = sampleSmooth(gas, u + bend * a + circleY, v + bend * b - circleX);
      const lane = sampleSmooth(dust, u * 1.2 + bend * b * 0.7, v * 1.2 + bend * a * 0.7 + circleX);
      const distance = across - arm - 0.22 * a;
      const belt = Math.exp(-distance * distance * band);
      const density = Math.max(0, 0.36 + 0.55 * cloud + 0.12 * lane) * belt;
      const shadow = 1 / (1 + Math.exp((lane * 0.55 - cloud * 0.8 - 0.12) * 7));
      const index = (row * columns + column) * VALUES;
      values[index] = density * (0.3 + 0.7 * shadow);
      values[index + 1] = density * density * shadow;
      values[index + 2] = Math.min(1, Math.max(0, 0.5 + 0.75 * b + 0.4 * a));
    }
    report((0.6 * row) / rows);
  }
  return { cell, columns, values };
}

function paintGas(layout: Layout, canvas: Canvas, phase: number, report: Report): void {
  const { palette } = layout;
  const { width, height, light } = canvas;
  const { cell, columns, values } = gasAt(layout, canvas, phase, report);
  const stride = columns * VALUES;
  const line = new Float32Array(stride);
  const ground = palette.dark ? 0.4 : 0.14;
  for (let y = 0; y < height; y += 1) {
    const row = Math.floor(y / cell);
    mixLines(line, values, row * stride, stride, y / cell - row);
    for (let x = 0; x < width; x += 1) {
      const column = Math.floor(x / cell);
      const fx = x / cell - column;
      const at = column * VALUES;
      const wisp = between(line, at, fx);
      const core = between(line, at + 1, fx);
      const mix = between(line, at + 2, fx);
      const index = (y * width + x) * 3;
      for (let channel = 0; channel < 3; channel += 1) {
        const first = palette.secondAccent[channel] as number;
        const second = palette.main[channel] as number;
        const hue = first + (second - first) * mix;
        light[index + channel] =
          (palette.deep[channel] as number) * ground +
          hue * wisp * 0.42 +
          (hue * 0.8 + (palette.light[channel] as number) * 0.5) * core * 1.15;
      }
    }
    report(0.6 + (0.25 * y) / height);
  }
}

/** Writes into `line` what lies between two rows of values, `share` of the way from the one that starts at `start`. */
function mixLines(
  line: Float32Array,
  values: Float32Array,
  start: number,
  stride: number,
  share: number,
): void {
  for (let index = 0; index < stride; index += 1) {
    const upper = values[start + index] as number;
    line[index] = upper + ((values[start + stride + index] as number) - upper) * share;
  }
}

function between(line: Float32Array, at: number, share: number): number {
  const left = line[at] as number;
  return left + ((line[at + VALUES] as number) - left) * share;
}

interface StarOptions {
  /** Stars per million pixels of an image whose short side is 1024 pixels, before thinning by steps. */
  readonly density: number;
  readonly salt: number;
  readonly tint: LinearRgb;
  /** Fraction of the height below which there are no stars. */
  readonly horizon: number;
}

/** Adds stars of uneven brightness that twinkle once around the loop. */
function addStars(canvas: Canvas, phase: number, options: StarOptions): void {
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

/** Adds a soft round light. Radius in pixels; brightness in linear light at the center. */
function addDisc(
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

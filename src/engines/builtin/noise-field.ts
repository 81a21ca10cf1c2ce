import type { Random } from './random.ts';

/** A square of fractal noise that tiles in both directions, sampled in tile coordinates (1 = one period). */
export interface NoiseField {
  /** Samples per side, a power of two. */
  readonly size: number;
  readonly values: Float32Array;
}

export interface NoiseFieldOptions {
  readonly size: number;
  /** Lattice cells per side of the coarsest octave. */
  readonly cells: number;
  /** Number of octaves, each half as wide as the previous one. A fraction fades the last one in. */
  readonly octaves: number;
  /** Amplitude of an octave relative to the previous one. */
  readonly gain: number;
  /** Folds each octave at zero, giving creases instead of hills. */
  readonly ridged?: boolean;
}

/** Minimum samples per lattice cell. Octaves with fewer alias, so they are skipped. */
const SAMPLES_PER_CELL_MIN = 3;

/**
 * Renders periodic gradient noise (Perlin, "Improving Noise", SIGGRAPH 2002), summed over octaves, into a square, so a frame costs only a
 * few lookups per pixel. The octaves draw their lattices in order from a branch of `random`: more octaves refine the same image and do not
 * change other fields.
 */
export function createNoiseField(random: Random, options: NoiseFieldOptions): NoiseField {
  const values = new Float32Array(options.size * options.size);
  const lattices = random.branch();
  let amplitude = 1.55;
  let cells = options.cells;
  for (let octave = 0; octave < options.octaves; octave += 1) {
    const gradients = latticeGradients(lattices, cells);
    const weight = amplitude * Math.min(1, options.octaves - octave);
    if (options.size / cells >= SAMPLES_PER_CELL_MIN) {
      addOctave(values, options.size, cells, gradients, weight, options.ridged ?? false);
    }
    amplitude *= options.gain;
    cells *= 2;
  }
  return { size: options.size, values };
}

/** Bilinear lookup, good enough for bending coordinates. */
export function sampleLinear(field: NoiseField, u: number, v: number): number {
  const { size, values } = field;
  const mask = size - 1;
  const x = u * size;
  const y = v * size;
  const column = Math.floor(x);
  const row = Math.floor(y);
  const fx = x - column;
  const fy = y - row;
  const left = column & mask;
  const right = (column + 1) & mask;
  const top = (row & mask) * size;
  const bottom = ((row + 1) & mask) * size;
  const upper = at(values, top + left) * (1 - fx) + at(values, top + right) * fx;
  const lower = at(values, bottom + left) * (1 - fx) + at(values, bottom + right) * fx;
  return upper * (1 - fy) + lower * fy;
}

/** Catmull-Rom lookup. Its slope is continuous, so light on the surface shows no facets. */
export function sampleSmooth(field: NoiseField, u: number, v: number): number {
  const { size, values } = field;
  const mask = size - 1;
  const x = u * size;
  const y = v * size;
  const column = Math.floor(x);
  const row = Math.floor(y);
  const fx = x - column;
  const fy = y - row;
  const wx0 = ((-0.5 * fx + 1) * fx - 0.5) * fx;
  const wx1 = (1.5 * fx - 2.5) * fx * fx + 1;
  const wx2 = ((-1.5 * fx + 2) * fx + 0.5) * fx;
  const wx3 = 1 - wx0 - wx1 - wx2;
  const c0 = (column - 1) & mask;
  const c1 = column & mask;
  const c2 = (column + 1) & mask;
  const c3 = (column + 2) & mask;
  let total = 0;
  for (let step = 0; step < 4; step += 1) {
    const start = ((row + step - 1) & mask) * size;
    const line =
      at(values, start + c0) * wx0 +
      at(values, start + c1) * wx1 +
      at(values, start + c2) * wx2 +
      at(values, start + c3) * wx3;
    total += line * rowWeight(step, fy);
  }
  return total;
}

function rowWeight(step: number, f: number): number {
  if (step === 0) {
    return ((-0.5 * f + 1) * f - 0.5) * f;
  }
  if (step === 1) {
    return (1.5 * f - 2.5) * f * f + 1;
  }
  return step === 2 ? ((-1.5 * f + 2) * f + 0.5) * f : (0.5 * f - 0.5) * f * f;
}

function latticeGradients(random: Random, cells: number): Float32Array {
  const gradients = new Float32Array(cells * cells * 2);
  for (let index = 0; index < gradients.length; index += 2) {
    const angle = random.unit() * 2 * Math.PI;
    gradients[index] = Math.cos(angle);
    gradients[index + 1] = Math.sin(angle);
  }
  return gradients;
}

function addOctave(
  values: Float32Array,
  size: number,
  cells: number,
  gradients: Float32Array,
  weight: number,
  ridged: boolean,
): void {
  const scale = cells / size;
  for (let row = 0; row < size; row += 1) {
    const y = row * scale;
    const cellY = Math.floor(y);
    const upper = cellY * cells;
    const lower = ((cellY + 1) % cells) * cells;
    const fy = y - cellY;
    const sy = fade(fy);
    for (let column = 0; column < size; column += 1) {
      const x = column * scale;
      const left = Math.floor(x);
      const right = (left + 1) % cells;
      const fx = x - left;
      const sx = fade(fx);
      const a = dot(gradients, upper + left, fx, fy);
      const b = dot(gradients, upper + right, fx - 1, fy);
      const c = dot(gradients, lower + left, fx, fy - 1);
      const d = dot(gradients, lower + right, fx - 1, fy - 1);
      const noise = a + (b - a) * sx + (c - a + (a - b - c + d) * sx) * sy;
      const index = row * size + column;
      values[index] = at(values, index) + weight * (ridged ? 0.45 - 1.8 * Math.abs(noise) : noise);
    }
  }
}

function dot(gradients: Float32Array, cell: number, x: number, y: number): number {
  return at(gradients, cell * 2) * x + at(gradients, cell * 2 + 1) * y;
}

function fade(t: number): number {
  return t * t * t * (t * (t * 6 - 15) + 10);
}

// Indices are in range by construction. The cast avoids a branch per sample that only the type checker needs.
function at(values: Float32Array, index: number): number {
  return values[index] as number;
}

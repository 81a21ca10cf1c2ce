import { type LinearRgb, oklchToLinear } from './oklch.ts';
import type { PromptHints } from './prompt-hints.ts';
import type { Random } from './random.ts';

/** Number of entries in {@link Palette.ramp}. */
export const RAMP_LENGTH = 512;

export interface Palette {
  /** Dark to light, {@link RAMP_LENGTH} linear RGB triples. */
  readonly ramp: Float32Array;
  readonly deep: LinearRgb;
  readonly light: LinearRgb;
  /** The palette's own hue at its most vivid. */
  readonly main: LinearRgb;
  /** A hue that contrasts with the ramp, for suns, edges and glints. */
  readonly accent: LinearRgb;
  readonly secondAccent: LinearRgb;
  /** Whether the image is predominantly dark. */
  readonly dark: boolean;
}

interface Harmony {
  readonly travel: number;
  readonly accent: number;
}

/** Degrees by which the hue shifts from dark to light, and the offset of the accent hue. Classic harmonies, kept gentle. */
const HARMONIES: readonly [Harmony, ...Harmony[]] = [
  { travel: 70, accent: 180 },
  { travel: -75, accent: 165 },
  { travel: 110, accent: -150 },
  { travel: -120, accent: 150 },
  { travel: 45, accent: 120 },
  { travel: -40, accent: -120 },
  { travel: 150, accent: 60 },
];

/** Derives a harmonious palette in OKLCH: lightness rises evenly, the hue shifts, and chroma peaks in the midtones. */
export function createPalette(random: Random, hints: PromptHints): Palette {
  const drawnHue = random.unit() * 360;
  const hue = hints.hue === undefined ? drawnHue : hints.hue + random.between(-12, 12);
  const harmony = random.pick(HARMONIES);
  const mood = hints.mood ?? (random.unit() < 0.45 ? 'dark' : 'light');
  const dark = mood === 'dark';
  const chroma = random.between(0.11, 0.19);
  const lightnessFrom = dark ? random.between(0.1, 0.17) : random.between(0.22, 0.34);
  const lightnessTo = dark ? random.between(0.82, 0.92) : random.between(0.94, 0.975);
  const start = hue - harmony.travel * 0.45;
  const shade = (t: number): LinearRgb =>
    oklchToLinear({
      lightness: lightnessFrom + (lightnessTo - lightnessFrom) * t,
      chroma: chroma * (0.35 + 0.95 * Math.sin(Math.PI * (0.12 + 0.76 * t)) ** 1.2) * (1 - 0.35 * t),
      hue: start + harmony.travel * t,
    });
  const ramp = new Float32Array(RAMP_LENGTH * 3);
  for (let index = 0; index < RAMP_LENGTH; index += 1) {
    ramp.set(shade(index / (RAMP_LENGTH - 1)), index * 3);
  }
  return {
    ramp,
    deep: shade(0),
    light: shade(1),
    main: oklchToLinear({ lightness: dark ? 0.76 : 0.7, chroma: 0.17, hue }),
    accent: oklchToLinear({ lightness: dark ? 0.78 : 0.72, chroma: 0.17, hue: hue + harmony.accent }),
    secondAccent: oklchToLinear({
      lightness: dark ? 0.68 : 0.64,
      chroma: 0.16,
      hue: hue + harmony.accent * 0.5,
    }),
    dark,
  };
}

/** Returns the offset in the ramp of the color for t in 0–1 (clamped). Its three channels start there. */
export function rampOffset(t: number): number {
  const clamped = t < 0 ? 0 : t > 1 ? 1 : t;
  return Math.round(clamped * (RAMP_LENGTH - 1)) * 3;
}

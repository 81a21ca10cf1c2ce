import type { Canvas } from './canvas.ts';
import type { Palette } from './palette.ts';
import type { Random } from './random.ts';

/** How far a picture is, 0–1. */
export type Report = (fraction: number) => void;

/** A picture that knows its own composition. Phase 0–1 runs once around a seamless loop. */
export interface Scene {
  paint(canvas: Canvas, phase: number, report: Report): void;
}

/** What a scene is built from. */
export interface SceneInput {
  readonly random: Random;
  readonly palette: Palette;
  /** 0 = two steps, 1 = thirty: octaves, layers, sharpness. Never changes what is drawn from `random`. */
  readonly detail: number;
  /** Samples per side of noise fields, a power of two. */
  readonly fieldSize: number;
}

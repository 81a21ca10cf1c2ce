import type { Canvas } from './canvas.ts';
import type { Palette } from './palette.ts';
import type { Random } from './random.ts';

/** Reports the progress of an image, 0–1. */
export type Report = (fraction: number) => void;

/** A scene with its composition. Phase 0–1 goes once around a seamless loop. */
export interface Scene {
  paint(canvas: Canvas, phase: number, report: Report): void;
}

/** The parts a scene is built from. */
export interface SceneInput {
  readonly random: Random;
  readonly palette: Palette;
  /** 0 = two steps, 1 = thirty. Sets octaves, layers and sharpness; never changes what is drawn from `random`. */
  readonly detail: number;
  /** Samples per side of noise fields, a power of two. */
  readonly fieldSize: number;
}

import { createCanvas } from './canvas.ts';
import { type CompositionRequest, compose } from './composition.ts';
import { finish } from './finish.ts';
import type { Report } from './scene.types.ts';

/** What one rendering thread is asked for. Plain data: it crosses a thread boundary. */
export interface RenderJob extends Omit<CompositionRequest, 'fieldSize'> {
  readonly width: number;
  readonly height: number;
  /** 1 for an image. */
  readonly frames: number;
}

/** A finished frame: width × height × 3 bytes of sRGB, rows from the top. */
export type FramePixels = Uint8Array<ArrayBuffer>;

/** Strength of the soft light around bright parts. */
const GLOW = 0.22;
/** Share of the progress given to building the composition's noise. */
const COMPOSED = 0.1;

/**
 * Renders the frames of a job one after the other; the loop closes, so the frame after the last would be the first again.
 * Progress is 0–1 over all frames. Pure and synchronous between frames: it belongs on a thread of its own.
 */
export function* renderFrames(job: RenderJob, report: Report): Generator<FramePixels, void, void> {
  report(0);
  const fieldSize = Math.max(job.width, job.height) > 640 ? 1024 : 512;
  const { scene, detail } = compose({ prompt: job.prompt, seed: job.seed, steps: job.steps, fieldSize });
  const canvas = createCanvas(job.width, job.height);
  for (let frame = 0; frame < job.frames; frame += 1) {
    const share = (fraction: number) => report(COMPOSED + ((1 - COMPOSED) * (frame + fraction)) / job.frames);
    scene.paint(canvas, frame / job.frames, (fraction) => share(fraction * 0.9));
    const pixels = finish(canvas, { detail, glow: GLOW });
    share(1);
    yield pixels;
  }
}

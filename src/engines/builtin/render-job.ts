import { createCanvas } from './canvas.ts';
import { finish } from './finish.ts';
import { createPalette, type Palette } from './palette.ts';
import { promptHints, SCENE_NAMES, type SceneName } from './prompt-hints.ts';
import { createRandom } from './random.ts';
import type { Report, Scene, SceneInput } from './scene.types.ts';
import { createNebulaScene } from './scenes/nebula.scene.ts';
import { createPaperScene } from './scenes/paper.scene.ts';
import { createWavesScene } from './scenes/waves.scene.ts';

interface Composition {
  readonly scene: Scene;
  readonly sceneName: SceneName;
  readonly palette: Palette;
  readonly detail: number;
}

interface CompositionRequest {
  readonly prompt: string;
  readonly seed: bigint;
  readonly steps: number | undefined;
  readonly fieldSize: number;
}

const STEPS_MIN = 2;
const STEPS_MAX = 30;

const SCENES: Record<SceneName, (input: SceneInput) => Scene> = {
  paper: createPaperScene,
  nebula: createNebulaScene,
  waves: createWavesScene,
};

/** The work of one rendering thread. Plain data, because it crosses a thread boundary. */
export interface RenderJob extends Omit<CompositionRequest, 'fieldSize'> {
  readonly width: number;
  readonly height: number;
  /** 1 for an image. */
  readonly frames: number;
}

/** A finished frame: width × height × 3 bytes of sRGB, rows from the top. */
export type FramePixels = Uint8Array<ArrayBuffer>;

/** Strength of the glow around bright parts. */
const GLOW = 0.22;
/** Share of the progress reserved for building the composition's noise. */
const COMPOSED = 0.1;

/**
 * Renders the frames of a job in order. The loop closes: the frame after the last would be the first again. Progress is 0–1 over all
 * frames. Synchronous, so it should run on a separate thread.
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

/** Chooses scene and palette for a request. The same prompt, seed and steps always give the same composition. */
export function compose(request: CompositionRequest): Composition {
  const { prompt, seed } = request;
  const hints = promptHints(prompt);
  const sceneName = chooseScene(prompt, seed);
  const mood = sceneName === 'nebula' ? 'dark' : hints.mood;
  const palette = createPalette(createRandom('palette', prompt, seed), { ...hints, mood });
  const detail = detailOf(request.steps);
  const random = createRandom(`layout-${sceneName}`, prompt, seed);
  const scene = SCENES[sceneName]({ random, palette, detail, fieldSize: request.fieldSize });
  return { scene, sceneName, palette, detail };
}

/** Returns the scene that the prompt's words suggest, or a random one. */
export function chooseScene(prompt: string, seed: bigint): SceneName {
  return promptHints(prompt).scene ?? createRandom('scene', prompt, seed).pick(SCENE_NAMES);
}

/** Maps steps to 0–1. Endpoints without steps get the most detailed image. */
function detailOf(steps: number | undefined): number {
  const bounded = Math.min(STEPS_MAX, Math.max(STEPS_MIN, steps ?? STEPS_MAX));
  return (bounded - STEPS_MIN) / (STEPS_MAX - STEPS_MIN);
}

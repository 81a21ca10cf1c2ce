import type { Palette } from './palette.ts';
import { createPalette } from './palette.ts';
import { promptHints, SCENE_NAMES, type SceneName } from './prompt-hints.ts';
import { createRandom } from './random.ts';
import type { Scene, SceneInput } from './scene.types.ts';
import { createNebulaScene } from './scenes/nebula.scene.ts';
import { createPaperScene } from './scenes/paper.scene.ts';
import { createWavesScene } from './scenes/waves.scene.ts';

export interface Composition {
  readonly scene: Scene;
  readonly sceneName: SceneName;
  readonly palette: Palette;
  readonly detail: number;
}

export interface CompositionRequest {
  readonly prompt: string;
  readonly seed: bigint;
  readonly steps: number | undefined;
  readonly fieldSize: number;
}

export const STEPS_MIN = 2;
export const STEPS_MAX = 30;

const SCENES: Record<SceneName, (input: SceneInput) => Scene> = {
  paper: createPaperScene,
  nebula: createNebulaScene,
  waves: createWavesScene,
};

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

/** The kind of picture: what the prompt's words suggest, else drawn. */
export function chooseScene(prompt: string, seed: bigint): SceneName {
  return promptHints(prompt).scene ?? createRandom('scene', prompt, seed).pick(SCENE_NAMES);
}

/** Steps as 0–1. Endpoints without steps get the finest picture. */
export function detailOf(steps: number | undefined): number {
  const bounded = Math.min(STEPS_MAX, Math.max(STEPS_MIN, steps ?? STEPS_MAX));
  return (bounded - STEPS_MIN) / (STEPS_MAX - STEPS_MIN);
}

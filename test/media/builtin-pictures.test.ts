import { Worker } from 'node:worker_threads';
import { createCanvas } from '../../src/engines/builtin/canvas.ts';
import { SCENE_NAMES } from '../../src/engines/builtin/prompt-hints.ts';
import { chooseScene, compose, type RenderJob, renderFrames } from '../../src/engines/builtin/render-job.ts';

const SIDE = 128;
const SCENE_PROMPTS: Record<(typeof SCENE_NAMES)[number], string> = {
  paper: 'paper',
  nebula: 'nebula',
  waves: 'waves',
};

let worker: Worker;

beforeAll(() => {
  worker = new Worker(new URL('./render-batch.mjs', import.meta.url));
});

afterAll(() => worker?.terminate());

let lastId = 0;

function render(
  prompt: string,
  options: { seed?: bigint; steps?: number; frames?: number } = {},
): Promise<Uint8Array[]> {
  const { seed = 1n, steps, frames = 1 } = options;
  const job: RenderJob = { prompt, seed, steps, frames, width: SIDE, height: SIDE };
  lastId += 1;
  const id = lastId;
  return new Promise((resolve, reject) => {
    const onMessage = (message: { id: number; frames: Uint8Array[] }) => {
      if (message.id === id) {
        worker.off('message', onMessage).off('error', reject);
        resolve(message.frames);
      }
    };
    worker.on('message', onMessage).once('error', reject);
    worker.postMessage({ id, job });
  });
}

async function still(prompt: string, options: { seed?: bigint; steps?: number } = {}): Promise<Uint8Array> {
  const [picture] = await render(prompt, options);
  return picture!;
}

/** Mean absolute difference of 8 × 8 averages, in levels of 255: the difference that remains when squinting. */
function squintDistance(left: Uint8Array, right: Uint8Array): number {
  const grid = (pixels: Uint8Array) => {
    const { floor } = Math;
    const cells = new Float64Array(8 * 8 * 3);
    for (let index = 0; index < pixels.length; index += 1) {
      const pixel = floor(index / 3);
      const x = floor(((pixel % SIDE) * 8) / SIDE);
      const y = floor((floor(pixel / SIDE) * 8) / SIDE);
      cells[(y * 8 + x) * 3 + (index % 3)]! += pixels[index]! / ((SIDE / 8) * (SIDE / 8));
    }
    return cells;
  };
  const [a, b] = [grid(left), grid(right)];
  return a.reduce((sum, value, index) => sum + Math.abs(value - b[index]!), 0) / a.length;
}

/** Mean absolute Laplacian of the green channel: energy in the finest detail. */
function fineDetail(pixels: Uint8Array): number {
  let sum = 0;
  const at = (x: number, y: number) => pixels[(y * SIDE + x) * 3 + 1]!;
  for (let y = 1; y < SIDE - 1; y += 1) {
    for (let x = 1; x < SIDE - 1; x += 1) {
      sum += Math.abs(4 * at(x, y) - at(x - 1, y) - at(x + 1, y) - at(x, y - 1) - at(x, y + 1));
    }
  }
  return sum / (SIDE * SIDE);
}

function meanDistance(left: Uint8Array, right: Uint8Array): number {
  let sum = 0;
  for (let index = 0; index < left.length; index += 1) {
    const difference = left[index]! - right[index]!;
    sum += difference < 0 ? -difference : difference;
  }
  return sum / left.length;
}

describe('the built-in images', () => {
  test('are the same bytes for the same request', async () => {
    for (const prompt of Object.values(SCENE_PROMPTS)) {
      const [first, second] = [await still(prompt), await still(prompt)];
      expect(Buffer.compare(first, second)).toBe(0);
    }
  });

  test('differ clearly between prompts and between seeds', async () => {
    const pictures = [
      await still('a red fox'),
      await still('a blue fox'),
      await still('an old clock tower'),
      await still('an old clock tower.'),
      await still('an old clock tower', { seed: 2n }),
      await still('an old clock tower', { seed: 9_999_999_999n }),
    ];
    pictures.forEach((left, index) => {
      for (const right of pictures.slice(index + 1)) {
        expect(squintDistance(left, right)).toBeGreaterThan(10);
      }
    });
  });

  test('use every scene for prompts without a hint', () => {
    const scenes = Array.from({ length: 60 }, (_, index) => chooseScene(`thing ${index}`, 1n));
    expect(new Set(scenes)).toEqual(new Set(SCENE_NAMES));
  });

  test.each(SCENE_NAMES)('gain fine detail with steps: %s', async (scene) => {
    const energies: number[] = [];
    for (const steps of [2, 8, 16, 30]) {
      energies.push(fineDetail(await still(SCENE_PROMPTS[scene], { steps })));
    }
    energies.slice(1).forEach((energy, index) => {
      expect(energy).toBeGreaterThan(energies[index]! * 1.04);
    });
  });

  test.each(SCENE_NAMES)('keep their composition while steps refine it: %s', async (scene) => {
    const [coarse, fine, other] = [
      await still(SCENE_PROMPTS[scene], { steps: 12 }),
      await still(SCENE_PROMPTS[scene], { steps: 30 }),
      await still(SCENE_PROMPTS[scene], { steps: 30, seed: 7n }),
    ];
    expect(squintDistance(coarse, fine)).toBeLessThan(squintDistance(other, fine) * 0.6);
  });

  test.each(SCENE_NAMES)('move smoothly in a closed loop: %s', async (scene) => {
    const frames = await render(SCENE_PROMPTS[scene], { steps: 10, frames: 24 });
    const moves = frames.map((frame, index) => meanDistance(frame, frames[(index + 1) % frames.length]!));
    const closing = moves.at(-1)!;
    expect(Math.min(...moves)).toBeGreaterThan(0.02);
    expect(Math.max(...moves)).toBeLessThan(12);
    expect(closing).toBeLessThan(2 * Math.max(...moves.slice(0, -1)));
  });

  test('never contain a value that is not a number', () => {
    for (const prompt of Object.values(SCENE_PROMPTS)) {
      const canvas = createCanvas(97, 61);
      compose({ prompt, seed: 3n, steps: 30, fieldSize: 64 }).scene.paint(canvas, 0.3, () => {});
      expect(canvas.light.every(Number.isFinite)).toBe(true);
    }
  });

  test('report progress that only rises, up to the end', () => {
    const reported: number[] = [];
    const job = { prompt: 'x', seed: 1n, steps: 4, frames: 3, width: 48, height: 32 };
    for (const _frame of renderFrames(job, (fraction) => reported.push(fraction))) {
      // Reading the generator renders.
    }
    expect(reported.every((value, index) => index === 0 || value >= reported[index - 1]!)).toBe(true);
    expect(reported.at(-1)).toBeCloseTo(1);
  });
});

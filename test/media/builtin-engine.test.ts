import { readdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import sharp from 'sharp';
import { BuiltinEngine, type BuiltinEngineOptions } from '../../src/engines/builtin/builtin-engine.ts';
import type { EngineContext, EngineRequest, EngineStatus } from '../../src/engines/engine.types.ts';
import { bytesOf } from '../../src/lib/file-content.ts';
import { createFfmpeg, type Ffmpeg } from '../../src/media/ffmpeg.ts';
import { encodePng } from '../../src/media/image.ts';
import { eventually } from '../factories/eventually.ts';
import { childPids, isRunning, mediaTools, testFolder } from './media-tools.ts';

const IMAGE: EngineRequest = {
  taskId: 'task',
  attempt: 1,
  kind: 'image',
  model: 'local',
  prompt: 'a lighthouse in a storm',
  seed: 9_999_999_999n,
  width: 257,
  height: 331,
  steps: undefined,
  seconds: undefined,
};
const VIDEO: EngineRequest = { ...IMAGE, kind: 'video', width: 160, height: 96, steps: 8 };

describe('the built-in engine', () => {
  let folder: Awaited<ReturnType<typeof testFolder>>;
  let ffmpeg: Ffmpeg;
  let engine: BuiltinEngine;
  let count = 0;

  beforeAll(async () => {
    folder = await testFolder();
    ffmpeg = createFfmpeg(await mediaTools());
    engine = create();
  });

  afterAll(async () => {
    await engine?.close();
    await folder?.remove();
  });

  function create(options: Partial<BuiltinEngineOptions> = {}): BuiltinEngine {
    const encoders = { encodePng, encodeFrames: ffmpeg.encodeFrames };
    return new BuiltinEngine({ id: 'local', encoders, videoFrames: 12, ...options });
  }

  async function context(
    signal = new AbortController().signal,
  ): Promise<EngineContext & { reported: number[] }> {
    count += 1;
    const reported: number[] = [];
    const onProgress = (progress: number) => reported.push(progress);
    return { folder: await folder.sub(`attempt-${count}`), signal, onProgress, reported };
  }

  async function settled(
    reference: string,
    request: EngineRequest,
    around: EngineContext,
  ): Promise<EngineStatus> {
    for (;;) {
      const status = await engine.poll(reference, request, around);
      if (status.state !== 'running') {
        return status;
      }
      await sleep(10);
    }
  }

  async function produce(request: EngineRequest): Promise<Buffer> {
    const around = await context();
    const reference = await engine.submit(request, around);
    expect(await settled(reference, request, around)).toEqual({ state: 'succeeded', progress: 1 });
    const [output, ...others] = await engine.collect(reference);
    expect(others).toEqual([]);
    expect(String(output!.file).startsWith(around.folder)).toBe(true);
    const { reported } = around;
    expect(reported.every((value, index) => value >= (reported[index - 1] ?? 0))).toBe(true);
    expect(reported.length).toBeGreaterThan(3);
    return bytesOf(output!.file);
  }

  async function threads(): Promise<number> {
    return (await readdir('/proc/self/task')).length;
  }

  test('draws an image of exactly the requested size, the same bytes each time', async () => {
    const first = await produce(IMAGE);
    const second = await produce({ ...IMAGE, taskId: 'another', attempt: 3 });
    expect(first.equals(second)).toBe(true);
    expect(await sharp(first).metadata()).toMatchObject({ format: 'png', width: 257, height: 331 });
    expect(first.equals(await produce({ ...IMAGE, seed: 1n }))).toBe(false);
  });

  test('draws a video, the same bytes each time', async () => {
    const around = await context();
    const reference = await engine.submit(VIDEO, around);
    await settled(reference, VIDEO, around);
    const [output] = await engine.collect(reference);
    const limits = { container: 'mov', pixelsMax: 1_000_000, signal: around.signal } as const;
    expect(await ffmpeg.probe(String(output!.file), limits)).toMatchObject({
      codec: 'h264',
      pixelFormat: 'yuv420p',
      width: 160,
      height: 96,
      frames: 12,
      durationMs: 500,
    });
    expect((await bytesOf(output!.file)).equals(await produce(VIDEO))).toBe(true);
    expect((await bytesOf(output!.file)).equals(await produce({ ...VIDEO, steps: 9 }))).toBe(false);
  });

  test.each(['the signal', 'cancel', 'close'])(
    'frees thread and encoder within a second of %s',
    async (how) => {
      const abort = new AbortController();
      const own = create({ videoFrames: 500 });
      const around = await context(abort.signal);
      const before = await childPids();
      const threadsBefore = await threads();
      const reference = await own.submit({ ...VIDEO, width: 1280, height: 720, steps: 30 }, around);
      const newChildren = async () => (await childPids()).filter((pid) => !before.includes(pid));
      await eventually(async () => (await newChildren()).length > 0);
      const encoders = await newChildren();
      expect(encoders.length).toBe(1);
      const started = performance.now();
      if (how === 'the signal') {
        abort.abort(new Error('lease lost'));
        while ((await own.poll(reference, VIDEO, around)).state === 'running') {
          await sleep(10);
        }
        expect((await own.poll(reference, VIDEO, around)).state).toBe('canceled');
      } else if (how === 'cancel') {
        expect(await own.cancel(reference)).toBe('stopped');
      } else {
        await own.close();
      }
      expect(performance.now() - started).toBeLessThan(5_000);
      expect(encoders.some(isRunning)).toBe(false);
      expect(await threads()).toBeLessThanOrEqual(threadsBefore);
      await own.close();
    },
  );

  test('leaves the event loop free while it draws', async () => {
    const around = await context();
    const reference = await engine.submit({ ...IMAGE, width: 1024, height: 1024 }, around);
    const began = performance.now();
    let longest = 0;
    let last = began;
    while ((await engine.poll(reference, IMAGE, around)).state === 'running') {
      await sleep(5);
      longest = Math.max(longest, performance.now() - last);
      last = performance.now();
    }
    await engine.collect(reference);
    // drawing on this thread would take all of the time; a machine that is otherwise busy takes some of it
    expect(longest).toBeLessThan((last - began) / 2);
  });

  test('keeps a bounded number of runs and forgets ended ones first', async () => {
    const small = create({ runsMax: 1 });
    const around = await context();
    const first = await small.submit(IMAGE, around);
    expect(await small.submit(IMAGE, around)).toBe(first);
    const second = { ...IMAGE, taskId: 'second' };
    await expect(small.submit(second, around)).rejects.toMatchObject({
      failure: { code: 'engine_busy', retryable: true },
    });
    while ((await small.poll(first, IMAGE, around)).state === 'running') {
      await sleep(10);
    }
    await small.submit(second, await context());
    expect(await small.poll(first, IMAGE, around)).toMatchObject({
      state: 'failed',
      failure: { code: 'run_lost', retryable: true },
    });
    await small.close();
  });

  test('reports what it cannot draw', async () => {
    const around = await context();
    const odd = { ...VIDEO, width: 161 };
    await expect(engine.submit(odd, around)).rejects.toMatchObject({
      failure: { code: 'unsupported_size', retryable: false },
    });
    await expect(engine.submit({ ...IMAGE, width: 1e9 }, around)).rejects.toMatchObject({
      failure: { code: 'unsupported_size' },
    });
  });

  test.each([IMAGE, VIDEO])(
    'fails the run of a $kind when the encoder fails, and says why',
    async (order) => {
      const refuse = () => Promise.reject(new Error('disk full'));
      const broken = create({ encoders: { encodeFrames: refuse, encodePng: refuse } });
      const around = await context();
      const reference = await broken.submit(order, around);
      let status = await broken.poll(reference, order, around);
      while (status.state === 'running') {
        await sleep(10);
        status = await broken.poll(reference, order, around);
      }
      const message = `the ${order.kind} could not be drawn`;
      const failure = { code: 'render_failed', message, said: 'disk full', retryable: true };
      expect(status).toMatchObject({ state: 'failed', failure });
      await expect(broken.collect(reference)).rejects.toMatchObject({ failure: { code: 'render_failed' } });
      await broken.close();
    },
  );

  test('has nothing to recover: a lost run is drawn again', async () => {
    expect(await engine.recover()).toBeNull();
  });
});

import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { watchChild } from '../../src/media/child-watch.ts';
import { createFfmpeg } from '../../src/media/ffmpeg.ts';
import { eventually } from '../factories/eventually.ts';
import { fakeTool, isRunning, testFolder } from './media-tools.ts';

const IGNORES_SIGTERM = "trap '' TERM\nwhile :; do sleep 0.05; done";
const never = new AbortController().signal;
const LIMITS = { container: 'mov', pixelsMax: 1_000_000, atSeconds: 0 } as const;

describe('ffmpeg children', () => {
  let folder: Awaited<ReturnType<typeof testFolder>>;

  beforeAll(async () => {
    folder = await testFolder();
  });

  afterAll(() => folder?.remove());

  test.each([
    ['stalled', { stallMs: 150 }, 'media_tool_stalled'],
    ['late', { timeoutMs: 150 }, 'media_tool_timeout'],
  ])('kills a %s child that ignores SIGTERM before the call ends', async (name, times, code) => {
    const tool = await fakeTool(folder.path, `hang-${name}`, IGNORES_SIGTERM);
    const ffmpeg = createFfmpeg({
      ffmpegPath: tool.path,
      ffprobePath: tool.path,
      killAfterMs: 150,
      ...times,
    });
    const started = performance.now();
    await expect(ffmpeg.poster('in.mp4', 'out.png', { ...LIMITS, signal: never })).rejects.toMatchObject({
      name: 'MediaError',
      code,
      retryable: true,
    });
    expect(isRunning(await tool.pid())).toBe(false);
    expect(performance.now() - started).toBeGreaterThan(290);
  });

  test('does not treat a child that shows progress as stalled', async () => {
    const body = 'for i in 1 2 3 4 5 6; do echo "frame=$i" >&2; sleep 0.1; done';
    const tool = await fakeTool(folder.path, 'slow', body);
    const ffmpeg = createFfmpeg({ ffmpegPath: tool.path, ffprobePath: tool.path, stallMs: 350 });
    await ffmpeg.poster('in.mp4', 'out.png', { ...LIMITS, signal: never });
  });

  test('treats a child that repeats itself as stalled', async () => {
    const tool = await fakeTool(folder.path, 'loop', 'while :; do echo "frame=7" >&2; sleep 0.05; done');
    const ffmpeg = createFfmpeg({ ffmpegPath: tool.path, ffprobePath: tool.path, stallMs: 300 });
    const run = ffmpeg.poster('in.mp4', 'out.png', { ...LIMITS, signal: never });
    await expect(run).rejects.toMatchObject({ code: 'media_tool_stalled' });
  });

  test('stops a child on abort and passes on the reason', async () => {
    const tool = await fakeTool(folder.path, 'aborted', IGNORES_SIGTERM);
    const ffmpeg = createFfmpeg({ ffmpegPath: tool.path, ffprobePath: tool.path, killAfterMs: 100 });
    const abort = new AbortController();
    const run = ffmpeg.poster('in.mp4', 'out.png', { ...LIMITS, signal: abort.signal });
    const outcome = expect(run).rejects.toBe('the lease is lost');
    await eventually(tool.pid);
    abort.abort('the lease is lost');
    await outcome;
    expect(isRunning(await tool.pid())).toBe(false);
  });

  test('starts nothing after an abort', async () => {
    const tool = await fakeTool(folder.path, 'unstarted', 'exit 0');
    const ffmpeg = createFfmpeg({ ffmpegPath: tool.path, ffprobePath: tool.path });
    const signal = AbortSignal.abort('too late');
    await expect(ffmpeg.poster('in.mp4', 'out.png', { ...LIMITS, signal })).rejects.toBe('too late');
    await expect(ffmpeg.probe('in.mp4', { ...LIMITS, signal })).rejects.toBe('too late');
    await expect(tool.pid()).rejects.toThrow('ENOENT');
  });

  test('reports why a child failed, without the folders of the host', async () => {
    const body = 'echo "/srv/secret/task-1/input.mp4: Invalid data found" >&2; exit 69';
    const tool = await fakeTool(folder.path, 'failing', body);
    const ffmpeg = createFfmpeg({ ffmpegPath: tool.path, ffprobePath: tool.path });
    const run = ffmpeg.poster('in.mp4', 'out.png', { ...LIMITS, signal: never });
    await expect(run).rejects.toMatchObject({
      code: 'media_tool_failed',
      message: 'ffmpeg failed (exit code 69): input.mp4: Invalid data found',
    });
  });

  test.each([
    ['kill -9 $$', 'SIGKILL'],
    ['exit 255', 'a signal'],
  ])('a child ended from outside by %s says nothing about the file', async (body, how) => {
    const tool = await fakeTool(folder.path, `killed-${how}`, body);
    const ffmpeg = createFfmpeg({ ffmpegPath: tool.path, ffprobePath: tool.path });
    const killed = (tool: string) => ({ code: 'media_tool_killed', message: `${tool} was ended by ${how}` });
    const limits = { ...LIMITS, signal: never };
    await expect(ffmpeg.poster('in.mp4', 'out.png', limits)).rejects.toMatchObject(killed('ffmpeg'));
    await expect(ffmpeg.verifyFrames('in.mp4', limits)).rejects.toMatchObject(killed('ffmpeg'));
    await expect(ffmpeg.probe('in.mp4', limits)).rejects.toMatchObject(killed('ffprobe'));
  });

  test('names a missing binary', async () => {
    const path = `${folder.path}/absent`;
    const ffmpeg = createFfmpeg({ ffmpegPath: path, ffprobePath: path });
    const poster = ffmpeg.poster('in.mp4', 'out.png', { ...LIMITS, signal: never });
    await expect(poster).rejects.toMatchObject({
      code: 'media_tool_missing',
      message: expect.stringContaining('FFMPEG_PATH'),
    });
    const probe = ffmpeg.probe('in.mp4', { ...LIMITS, signal: never });
    await expect(probe).rejects.toMatchObject({
      code: 'media_tool_missing',
      message: expect.stringContaining('FFPROBE_PATH'),
    });
  });

  test('a missing binary is sent no signal: it would reach our own process group', async () => {
    const signals: unknown[] = [];
    const child = spawn(`${folder.path}/absent`);
    child.kill = (signal) => signals.push(signal) > 0;
    const watch = watchChild(child, { timeoutMs: 60_000, signal: AbortSignal.abort('too late') });
    watch.stop();
    expect(await watch.exited).toEqual({ code: null, killedBy: null, stopped: 'aborted' });
    expect(signals).toEqual([]);
  });

  test('gives ffprobe its own timeout', async () => {
    const tool = await fakeTool(folder.path, 'probe', 'exec sleep 60');
    const ffmpeg = createFfmpeg({ ffmpegPath: tool.path, ffprobePath: tool.path });
    const probe = ffmpeg.probe('in.mp4', { ...LIMITS, signal: never, timeoutMs: 150 });
    await expect(probe).rejects.toMatchObject({ code: 'media_tool_timeout' });
    expect(isRunning(await tool.pid())).toBe(false);
  });

  test.each([
    ['an encoder that dies ends the producer of frames', 'exit 1', 'media_tool_failed'],
    ['an encoder that reads nothing ends the producer of frames', 'exec sleep 60', 'media_tool_stalled'],
  ])('%s', async (name, body, code) => {
    const tool = await fakeTool(folder.path, name.replaceAll(' ', '-'), body);
    const ffmpeg = createFfmpeg({ ffmpegPath: tool.path, ffprobePath: tool.path, stallMs: 300 });
    let ended = false;
    async function* frames() {
      try {
        for (;;) {
          yield new Uint8Array(64 * 64 * 3);
          await sleep(1);
        }
      } finally {
        ended = true;
      }
    }
    const options = { width: 64, height: 64, framesPerSecond: 24, signal: never };
    await expect(ffmpeg.encodeFrames(frames(), 'out.mp4', options)).rejects.toMatchObject({ code });
    expect(ended).toBe(true);
  });

  test('stops the encoder when the producer fails, and passes on its error', async () => {
    const tool = await fakeTool(folder.path, 'encoder', 'cat > /dev/null; exec sleep 60');
    const ffmpeg = createFfmpeg({ ffmpegPath: tool.path, ffprobePath: tool.path, killAfterMs: 100 });
    async function* frames() {
      yield new Uint8Array(64 * 64 * 3);
      await sleep(100);
      throw new Error('the renderer broke');
    }
    const options = { width: 64, height: 64, framesPerSecond: 24, signal: never };
    const run = ffmpeg.encodeFrames(frames(), 'out.mp4', options);
    await expect(run).rejects.toThrow('the renderer broke');
    expect(isRunning(await tool.pid())).toBe(false);
  });
});

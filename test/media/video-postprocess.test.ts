import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import sharp from 'sharp';
import { bytesOf } from '../../src/lib/file-content.ts';
import { createFfmpeg, type Ffmpeg } from '../../src/media/ffmpeg.ts';
import { postprocess } from '../../src/media/postprocess.ts';
import { makeVideo, mediaTools, testFolder } from './media-tools.ts';

const SECRET = 'the-secret-prompt-of-a-customer';
const SIZE = { width: 320, height: 180 };
const SOURCE = 'testsrc2=size=320x180:rate=24:duration=1';
const H264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p'];
const signal = new AbortController().signal;

describe('post-processing of videos', () => {
  let folder: Awaited<ReturnType<typeof testFolder>>;
  let tools: Awaited<ReturnType<typeof mediaTools>>;
  let ffmpeg: Ffmpeg;
  let count = 0;

  beforeAll(async () => {
    folder = await testFolder();
    tools = await mediaTools();
    ffmpeg = createFfmpeg(tools);
  });

  afterAll(() => folder?.remove());

  async function made(name: string, output: string[], source = SOURCE): Promise<string> {
    const path = join(folder.path, name);
    await makeVideo(tools.ffmpegPath, path, { source, output });
    return path;
  }

  async function run(input: string, size: typeof SIZE & { seconds?: number } = SIZE) {
    count += 1;
    const work = await folder.sub(`job-${count}`);
    return postprocess({ kind: 'video', inputs: [input], folder: work, signal, ...size }, ffmpeg);
  }

  function refused(input: string, code: string, size = SIZE) {
    return expect(run(input, size)).rejects.toMatchObject({ name: 'MediaError', code });
  }

  async function probed(path: string) {
    return ffmpeg.probe(path, { container: 'mov', pixelsMax: 4_000_000, signal });
  }

  test('copies a suitable stream, clean and streamable, with poster and thumbnail', async () => {
    const tags = ['-metadata', `comment=${SECRET}`, '-metadata:s:v', `handler_name=${SECRET}`];
    const input = await made('good.mp4', [...H264, '-x264-params', 'keyint=12', ...tags]);
    expect((await readFile(input)).includes(SECRET)).toBe(true);
    const [original, poster, thumbnail] = await run(input);
    expect(original).toMatchObject({
      variant: 'original',
      mediaType: 'video/mp4',
      durationMs: 1000,
      frames: 24,
      ...SIZE,
    });
    expect(poster).toMatchObject({ variant: 'poster', mediaType: 'image/webp', ...SIZE });
    expect(thumbnail).toMatchObject({ variant: 'thumbnail', width: 320, height: 180 });
    const bytes = await bytesOf(original!.content);
    expect(bytes.includes(SECRET)).toBe(false);
    expect(bytes.includes('keyint')).toBe(false);
    expect(bytes.includes('digitalsourcetype/trainedAlgorithmicMedia')).toBe(true);
    expect(bytes.indexOf('moov')).toBeLessThan(bytes.indexOf('mdat'));
    const still = await sharp(await bytesOf(poster!.content)).stats();
    expect(still.entropy).toBeGreaterThan(2);
  });

  test.each([
    ['webm of VP8', 'vp8.webm', ['-c:v', 'libvpx', '-deadline', 'realtime', '-cpu-used', '8'], SOURCE],
    ['avi of MJPEG', 'mjpeg.avi', ['-c:v', 'mjpeg', '-q:v', '3'], SOURCE],
    [
      'H.264 4:4:4',
      'high444.mp4',
      ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv444p'],
      SOURCE,
    ],
    ['a larger frame', 'large.mp4', H264, 'testsrc2=size=352x208:rate=24:duration=1'],
    ['non-square pixels', 'anamorphic.mp4', [...H264, '-vf', 'setsar=4/3'], SOURCE],
  ])('re-encodes %s', async (_name, file, output, source) => {
    const [original] = await run(await made(file, output, source));
    expect(await probed(String(original!.content))).toMatchObject({
      codec: 'h264',
      pixelFormat: 'yuv420p',
      distorted: false,
      ...SIZE,
    });
    expect(original).toMatchObject({ frames: 24, durationMs: 1000 });
  });

  test('keeps the sound', async () => {
    const sound = ['-f', 'lavfi', '-i', 'sine=duration=1', '-c:a', 'pcm_s16le', '-c:v', 'mjpeg'];
    const [original] = await run(await made('sound.avi', sound));
    expect(await probed(String(original!.content))).toMatchObject({ audioCodec: 'aac' });
  });

  test.each([
    ['a playlist', '#EXTM3U\n#EXTINF:1,\nfile:///etc/hostname\n'],
    ['a concat script', "ffconcat version 1.0\nfile '/etc/hostname'\n"],
    ['a subtitle', '1\n00:00:00,000 --> 00:00:01,000\nhello\n'],
  ])('rejects %s under any name', async (name, text) => {
    const input = join(folder.path, `${name.replaceAll(' ', '-')}.mp4`);
    await writeFile(input, text);
    await refused(input, 'media_type_refused');
  });

  test('rejects a playlist after the first bytes of an mp4', async () => {
    const input = join(folder.path, 'polyglot.mp4');
    await writeFile(
      input,
      Buffer.concat([Buffer.from('\0\0\0\x10ftypisom\0\0\x02\0', 'latin1'), Buffer.from('\n#EXTM3U\n')]),
    );
    await refused(input, 'media_corrupt');
  });

  test('rejects a truncated video whose index still promises all of it', async () => {
    const whole = await readFile(await made('whole.mp4', [...H264, '-movflags', '+faststart']));
    const input = join(folder.path, 'cut.mp4');
    await writeFile(input, whole.subarray(0, whole.length * 0.5));
    await refused(input, 'media_corrupt');
  });

  test('rejects a truncated video without an index', async () => {
    const whole = await readFile(await made('tail.mp4', H264));
    const input = join(folder.path, 'headless.mp4');
    await writeFile(input, whole.subarray(0, whole.length * 0.5));
    await refused(input, 'media_corrupt');
  });

  test('rejects broken frames inside an intact container', async () => {
    const bytes = await readFile(await made('sane.mp4', [...H264, '-movflags', '+faststart']));
    bytes.fill(0xa5, bytes.indexOf('mdat') + 2000, bytes.length - 2000);
    const input = join(folder.path, 'scrambled.mp4');
    await writeFile(input, bytes);
    await refused(input, 'media_corrupt');
  });

  test('rejects one broken frame in a stream that would be copied', async () => {
    const bytes = await readFile(await made('flawed.mp4', [...H264, '-movflags', '+faststart']));
    const start = bytes.indexOf('mdat');
    const middle = start + ((bytes.length - start) >> 1);
    bytes.fill(0xff, middle, middle + 200);
    const input = join(folder.path, 'flawed-picture.mp4');
    await writeFile(input, bytes);
    await refused(input, 'media_corrupt');
  });

  test.each([
    ['ac3', 'mov'],
    ['eac3', 'mp4'],
    ['alac', 'mov'],
    ['pcm_s24le', 'mov'],
    ['pcm_f32le', 'mkv'],
  ])('turns sound in %s into AAC', async (codec, container) => {
    const sound = ['-f', 'lavfi', '-i', 'sine=440:duration=1', ...H264, '-c:a', codec];
    const [original] = await run(await made(`${codec}.${container}`, sound));
    expect(await probed(String(original?.content))).toMatchObject({ codec: 'h264', audioCodec: 'aac' });
  });

  test.each([
    ['mov_text', 'mp4'],
    ['srt', 'mkv'],
    ['ass', 'mkv'],
    ['webvtt', 'mkv'],
  ])('leaves out subtitles in %s', async (codec, container) => {
    const subtitles = join(folder.path, 'subtitles.srt');
    await writeFile(subtitles, `1\n00:00:00,000 --> 00:00:00,900\n${SECRET}\n`);
    const input = await made(`${codec}.${container}`, ['-i', subtitles, ...H264, '-c:s', codec]);
    const [original] = await run(input);
    expect(original).toMatchObject({ mediaType: 'video/mp4', durationMs: 1000, frames: 24 });
    expect((await bytesOf(original?.content ?? '')).includes(SECRET)).toBe(false);
  });

  test('rejects a codec that is not accepted, for good', async () => {
    await expect(run(await made('prores.mov', ['-c:v', 'prores_ks']))).rejects.toMatchObject({
      code: 'media_type_refused',
      retryable: false,
    });
  });

  test('takes a video whose sound lasts longer', async () => {
    const sound = ['-f', 'lavfi', '-i', 'sine=duration=3', '-c:a', 'libvorbis', ...H264];
    expect((await run(await made('long-sound.mkv', sound)))[0]).toMatchObject({ durationMs: 1000 });
  });

  test('rejects a sound file', async () => {
    const path = join(folder.path, 'sound.mp4');
    await makeVideo(tools.ffmpegPath, path, { source: 'sine=duration=1', output: ['-c:a', 'aac'] });
    await refused(path, 'media_corrupt');
  });

  test('rejects far more pixels than requested', async () => {
    const source = 'color=black:size=3840x2160:rate=2:duration=1';
    await refused(await made('bomb.mp4', H264, source), 'media_pixel_limit');
  });

  test('rejects a clearly smaller video', async () => {
    await refused(
      await made('small.mp4', H264, 'testsrc2=size=256x144:rate=24:duration=1'),
      'media_size_mismatch',
    );
  });

  test.each([
    ['one frame of an MP4', 2, 'frame.mp4', [...H264, '-frames:v', '1']],
    ['half of it', 2, 'half.mp4', H264],
    ['a container that states no length', 2, 'half.webm', ['-c:v', 'libvpx', '-live', '1', '-f', 'webm']],
    ['much less than a second', 1, 'short.mp4', [...H264, '-frames:v', '13']],
  ])('rejects %s for a longer order', async (_, seconds, file, output) => {
    const input = await made(file, output);
    await expect(run(input, { ...SIZE, seconds })).rejects.toMatchObject({ code: 'media_length_mismatch' });
  });

  // 17 frames of 24: engines make groups of 8 and one
  test.each([
    [1, 'rounded.mp4', [...H264, '-frames:v', '17'], SOURCE],
    [1, 'exact.mp4', H264, SOURCE],
    [5, 'wan.mp4', H264, 'testsrc2=size=320x180:rate=16:duration=5.0625'],
    [6, 'step.mp4', H264, 'testsrc2=size=320x180:rate=8:duration=5'],
    [1, 'longer.mp4', H264, 'testsrc2=size=320x180:rate=8:duration=3'],
  ])('accepts about %p s, as %s', async (seconds, file, output, source) => {
    const [original] = await run(await made(file, output, source), { ...SIZE, seconds });
    expect(original!.frames).toBeGreaterThan(0);
  });

  test('rejects a video that is longer than any request', async () => {
    const source = 'color=black:size=64x64:rate=1:duration=130';
    await refused(await made('long.mp4', H264, source), 'media_too_long', { width: 64, height: 64 });
  });

  test('cuts the surplus of a video of the longest length, which engines round up', async () => {
    const size = { width: 64, height: 64 };
    const input = await made('surplus.mp4', H264, 'color=black:size=64x64:rate=2:duration=120.5');
    const [original] = await run(input, { ...size, seconds: 120 });
    expect(original).toMatchObject({ durationMs: 120_000, frames: 240 });
  });

  test('measures and shows a turned video as its container says', async () => {
    const input = await made('portrait.mp4', H264, 'testsrc2=size=180x320:rate=24:duration=1');
    const turned = join(folder.path, 'turned.mp4');
    await promisify(execFile)(tools.ffmpegPath, [
      '-v',
      'error',
      '-i',
      input,
      '-c',
      'copy',
      '-metadata:s:v:0',
      'rotate=90',
      turned,
    ]);
    const [original, poster] = await run(turned);
    expect(await probed(String(original!.content))).toMatchObject({ ...SIZE, distorted: false });
    expect(poster).toMatchObject(SIZE);
    await refused(turned, 'media_size_mismatch', { width: 180, height: 320 });
  });

  test('stops the encoder on abort', async () => {
    const source = 'testsrc2=size=1280x720:rate=24:duration=20';
    const input = await made('abort.avi', ['-c:v', 'mjpeg'], source);
    const abort = new AbortController();
    const work = await folder.sub('aborted');
    const job = {
      kind: 'video',
      inputs: [input],
      folder: work,
      width: 1280,
      height: 720,
      signal: abort.signal,
    } as const;
    const outcome = expect(postprocess(job, ffmpeg)).rejects.toBe('canceled');
    setTimeout(() => abort.abort('canceled'), 400);
    await outcome;
  });
});

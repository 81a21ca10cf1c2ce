import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import sharp, { type Sharp } from 'sharp';
import { type Size, THUMBNAIL_SIDE } from '../../src/media/media-limits.ts';

const QUIET = ['-v', 'error', '-nostdin', '-y'];
const ENCODER = [
  '-c:v',
  'libx264',
  '-preset',
  'veryfast',
  '-pix_fmt',
  'yuv420p',
  '-threads',
  '2',
  '-crf',
  '18',
];

/**
 * Makes the two files a customer gets of an image, with nothing but the image library. When the image is only copied, every pixel is still
 * decoded.
 */
export async function imageDirectly(
  input: string,
  size: Size,
  { folder, encode }: { folder: string; encode: boolean },
): Promise<void> {
  const bytes = await readFile(input);
  const original = join(folder, 'original.png');
  if (encode) {
    const { width, height } = size;
    await sharp(bytes).resize(width, height, { fit: 'cover' }).png({ compressionLevel: 6 }).toFile(original);
    await thumbnail(sharp(bytes), size, folder);
    return;
  }
  await writeFile(original, bytes);
  const { data, info } = await sharp(bytes).raw().toBuffer({ resolveWithObject: true });
  await thumbnail(sharp(data, { raw: info }), size, folder);
}

/**
 * Makes the three files a customer gets of a video, with nothing but the tools. When the video is only copied, it is still decoded once.
 */
export async function videoDirectly(
  ffmpeg: string,
  input: string,
  size: Size,
  { folder, encode }: { folder: string; encode: boolean },
): Promise<void> {
  const video = join(folder, 'original.mp4');
  const still = join(folder, 'still.png');
  const { width, height } = size;
  const matrix = 'out_color_matrix=bt709:out_range=tv';
  const fill = `scale=${width}:${height}:force_original_aspect_ratio=increase:${matrix},crop=${width}:${height}`;
  if (!encode) {
    await run(ffmpeg, ['-xerror', '-i', input, '-map', '0:v:0', '-f', 'null', '-']);
  }
  const made = encode ? [...ENCODER, '-vf', fill] : ['-c:v', 'copy'];
  await run(ffmpeg, ['-i', input, '-map', '0:v:0', ...made, '-movflags', '+faststart', video]);
  await run(ffmpeg, ['-ss', '0.5', '-i', video, '-frames:v', '1', still]);
  const bytes = await readFile(still);
  await sharp(bytes).webp({ quality: 80, effort: 1 }).toFile(join(folder, 'poster.webp'));
  await thumbnail(sharp(bytes), size, folder);
}

/** Makes a soft, noisy image, which compresses like a photograph rather than a test pattern. */
export async function makeImage(path: string, { width, height }: Size): Promise<void> {
  await sharp({
    create: {
      width,
      height,
      channels: 3,
      background: '#888888',
      noise: { type: 'gaussian', mean: 128, sigma: 60 },
    },
  })
    .blur(4)
    .png()
    .toFile(path);
}

/** Makes a video as engines deliver it: H.264, 24 frames a second. */
export async function makeVideo(
  ffmpeg: string,
  path: string,
  { width, height }: Size,
  seconds: number,
): Promise<void> {
  const source = `testsrc2=size=${width}x${height}:rate=24:duration=${seconds}`;
  await run(ffmpeg, ['-f', 'lavfi', '-i', source, ...ENCODER, path]);
}

async function thumbnail(input: Sharp, size: Size, folder: string): Promise<void> {
  const scale = THUMBNAIL_SIDE / Math.max(size.width, size.height);
  await input
    .resize(Math.round(size.width * scale), Math.round(size.height * scale), { fit: 'cover' })
    .webp({ quality: 80, effort: 1 })
    .toFile(join(folder, 'thumbnail.webp'));
}

async function run(ffmpeg: string, args: readonly string[]): Promise<void> {
  await promisify(execFile)(ffmpeg, [...QUIET, ...args]);
}

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Ffmpeg } from './ffmpeg.ts';
import { writeImage, writeThumbnail } from './image.ts';
import { openImage } from './image-file.ts';
import type { Size } from './media-limits.ts';
import type { DigitalSource } from './provenance.ts';
import { together } from './together.ts';
import { finishVideo } from './video.ts';

export interface PostprocessJob {
  readonly kind: 'image' | 'video';
  /** Pixels the customer asked for: the size of every original. */
  readonly width: number;
  readonly height: number;
  /** Files of the engine, in order of their index. Hostile. */
  readonly inputs: readonly string[];
  /** An empty folder of the caller's; outputs are written into it. */
  readonly folder: string;
  readonly signal: AbortSignal;
  /** Format of image originals. PNG unless stated. */
  readonly imageFormat?: 'png' | 'jpeg';
  /** What made the pictures: a trained model unless stated. */
  readonly source?: DigitalSource;
}

export type MediaVariant = 'original' | 'thumbnail' | 'poster';

export interface MediaOutput {
  readonly index: number;
  readonly variant: MediaVariant;
  readonly path: string;
  readonly mediaType: 'image/png' | 'image/jpeg' | 'image/webp' | 'video/mp4';
  readonly bytes: number;
  readonly width: number;
  readonly height: number;
  /** Videos only. */
  readonly durationMs?: number;
  readonly frames?: number;
  /** Lower-case hex of the file. */
  readonly sha256: string;
}

const DEFAULT_SOURCE: DigitalSource = 'trainedAlgorithmicMedia';

/**
 * Turns the files of an engine into what customers get: exact size, one clean format, no foreign metadata, provenance
 * stated, thumbnail (and poster) beside it. Throws MediaError, or the signal's reason.
 */
export async function postprocess(job: PostprocessJob, ffmpeg: Ffmpeg): Promise<MediaOutput[]> {
  const outputs: MediaOutput[] = [];
  for (const [index, input] of job.inputs.entries()) {
    job.signal.throwIfAborted();
    const made =
      job.kind === 'image' ? await image(job, index, input) : await video(job, index, input, ffmpeg);
    outputs.push(...made);
  }
  job.signal.throwIfAborted();
  return outputs;
}

async function image(job: PostprocessJob, index: number, input: string): Promise<MediaOutput[]> {
  const size = { width: job.width, height: job.height };
  const source = job.source ?? DEFAULT_SOURCE;
  const format = job.imageFormat ?? 'png';
  const path = join(job.folder, `${index}-original.${format}`);
  const thumbnailPath = join(job.folder, `${index}-thumbnail.webp`);
  const opened = await openImage(input, size);
  const mediaType = format === 'png' ? 'image/png' : 'image/jpeg';
  return await together<[MediaOutput, MediaOutput]>([
    writeImage(opened, size, path, { format, source }).then(() =>
      describe(index, 'original', path, mediaType, size),
    ),
    writeThumbnail(opened, size, thumbnailPath, source).then((thumbnailSize) =>
      describe(index, 'thumbnail', thumbnailPath, 'image/webp', thumbnailSize),
    ),
  ]);
}

async function video(
  job: PostprocessJob,
  index: number,
  input: string,
  ffmpeg: Ffmpeg,
): Promise<MediaOutput[]> {
  const size = { width: job.width, height: job.height };
  const paths = {
    video: join(job.folder, `${index}-original.mp4`),
    poster: join(job.folder, `${index}-poster.webp`),
    thumbnail: join(job.folder, `${index}-thumbnail.webp`),
  };
  const { probe, thumbnail } = await finishVideo(ffmpeg, input, size, paths, {
    folder: job.folder,
    source: job.source ?? DEFAULT_SOURCE,
    signal: job.signal,
  });
  const [original, ...stills] = await together<[MediaOutput, MediaOutput, MediaOutput]>([
    describe(index, 'original', paths.video, 'video/mp4', size),
    describe(index, 'poster', paths.poster, 'image/webp', size),
    describe(index, 'thumbnail', paths.thumbnail, 'image/webp', thumbnail),
  ]);
  return [{ ...original, durationMs: probe.durationMs, frames: probe.frames }, ...stills];
}

async function describe(
  index: number,
  variant: MediaVariant,
  path: string,
  mediaType: MediaOutput['mediaType'],
  size: Size,
): Promise<MediaOutput> {
  const hash = createHash('sha256');
  let bytes = 0;
  await pipeline(createReadStream(path), async (chunks: AsyncIterable<Buffer>) => {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      hash.update(chunk);
    }
  });
  return { index, variant, path, mediaType, bytes, ...size, sha256: hash.digest('hex') };
}

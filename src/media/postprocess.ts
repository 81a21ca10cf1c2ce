import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { invariant } from '../lib/errors.ts';
import type { FileContent } from '../lib/file-content.ts';
import type { Ffmpeg } from './ffmpeg.ts';
import { digestFile, type FileDigest } from './file-digest.ts';
import { copyImage, isThumbnail, type MadeThumbnail, makeImage, makeThumbnail } from './image.ts';
import { openImage } from './image-file.ts';
import type { DigitalSource } from './provenance.ts';
import { runAllToEnd } from './temporary-folder.ts';
import { finishVideo } from './video.ts';

export interface PostprocessJob {
  readonly kind: 'image' | 'video';
  /** The requested size in pixels, which every original gets. */
  readonly width: number;
  readonly height: number;
  /** The requested length of a video; undefined when the engine decides. */
  readonly seconds?: number | undefined;
  /** The engine's files in order of their index. Untrusted. Videos are on disk. */
  readonly inputs: readonly FileContent[];
  /** An empty folder provided by the caller, for the files made from videos. */
  readonly folder: string;
  readonly signal: AbortSignal;
  /** Format of image originals; PNG by default. */
  readonly imageFormat?: 'png' | 'jpeg';
  /** What made the images; a trained model by default. */
  readonly source?: DigitalSource;
}

export type MediaVariant = 'original' | 'thumbnail' | 'poster';

export interface MediaOutput {
  readonly index: number;
  readonly variant: MediaVariant;
  readonly content: FileContent;
  readonly mediaType: 'image/png' | 'image/jpeg' | 'image/webp' | 'video/mp4';
  readonly bytes: number;
  readonly width: number;
  readonly height: number;
  /** Videos only. */
  readonly durationMs?: number;
  readonly frames?: number;
  /** Lowercase hex of the file's hash. */
  readonly sha256: string;
}

const DEFAULT_SOURCE: DigitalSource = 'trainedAlgorithmicMedia';

/**
 * Turns an engine's files into the files customers get: the exact size, one clean format, no foreign metadata, stated provenance, with a
 * thumbnail (and a poster for videos). Throws MediaError, or the signal's reason.
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

async function image(job: PostprocessJob, index: number, input: FileContent): Promise<MediaOutput[]> {
  const size = { width: job.width, height: job.height };
  const source = job.source ?? DEFAULT_SOURCE;
  const format = job.imageFormat ?? 'png';
  const opened = await openImage(input, size);
  const copied = format === 'png' ? await copyImage(opened, size, source) : undefined;
  const small = isThumbnail(size);
  const [bytes, thumbnail] = await runAllToEnd<[Buffer, MadeThumbnail | undefined]>([
    copied ? Promise.resolve(copied) : makeImage(opened, size, { format, source }),
    small ? Promise.resolve(undefined) : makeThumbnail(opened, size, source),
  ]);
  const mediaType = format === 'png' ? 'image/png' : 'image/jpeg';
  const original: MediaOutput = { index, variant: 'original', mediaType, ...size, ...inMemory(bytes) };
  return [original, thumbnail ? still(index, 'thumbnail', thumbnail) : { ...original, variant: 'thumbnail' }];
}

async function video(
  job: PostprocessJob,
  index: number,
  input: FileContent,
  ffmpeg: Ffmpeg,
): Promise<MediaOutput[]> {
  invariant(typeof input === 'string', 'videos are on disk');
  const size = { width: job.width, height: job.height };
  const path = join(job.folder, `${index}-original.mp4`);
  const { probe, poster, thumbnail } = await finishVideo(ffmpeg, input, size, path, {
    folder: job.folder,
    source: job.source ?? DEFAULT_SOURCE,
    signal: job.signal,
    seconds: job.seconds,
  });
  const { durationMs, frames } = probe;
  const digest = await digestFile(path);
  return [
    {
      index,
      variant: 'original',
      content: path,
      mediaType: 'video/mp4',
      ...size,
      ...digest,
      durationMs,
      frames,
    },
    still(index, 'poster', { ...size, bytes: poster }),
    still(index, 'thumbnail', thumbnail),
  ];
}

function still(index: number, variant: MediaVariant, { width, height, bytes }: MadeThumbnail): MediaOutput {
  return { index, variant, mediaType: 'image/webp', width, height, ...inMemory(bytes) };
}

function inMemory(content: Buffer): FileDigest & { content: Buffer } {
  return { content, bytes: content.length, sha256: createHash('sha256').update(content).digest('hex') };
}

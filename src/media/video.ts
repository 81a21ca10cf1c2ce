import { join } from 'node:path';
import type { Ffmpeg } from './ffmpeg.ts';
import type { VideoProbe } from './ffprobe.ts';
import { identifyFile, type VideoContainer } from './file-signature.ts';
import { type MadeThumbnail, makeImage, makeThumbnail } from './image.ts';
import { openImage } from './image-file.ts';
import { MediaError } from './media-error.ts';
import {
  coversLength,
  coversRequest,
  isTooLong,
  pixelsMax,
  type Size,
  VIDEO_BYTES_MAX,
} from './media-limits.ts';
import { type DigitalSource, digitalSourceUri } from './provenance.ts';
import { runAllToEnd } from './temporary-folder.ts';

interface VerifiedVideo {
  readonly container: VideoContainer;
  readonly probe: VideoProbe;
}

export interface FinishedVideo {
  readonly probe: VideoProbe;
  /** A WebP with the size of the video. */
  readonly poster: Buffer;
  readonly thumbnail: MadeThumbnail;
}

type Stills = Omit<FinishedVideo, 'probe'>;

/** Position of the poster frame in the video, in seconds. Late enough to skip a fade-in. */
const POSTER_SECONDS = 0.5;

/** Minimum share of the declared duration that must remain. Frame rates that do not divide evenly cost a frame. */
const DURATION_KEPT_MIN = 0.9;

/** Turns an engine's video into a streamable MP4 of the requested size at `path`, with a poster and a thumbnail. Throws MediaError. */
export async function finishVideo(
  ffmpeg: Ffmpeg,
  input: string,
  size: Size,
  path: string,
  options: { folder: string; source: DigitalSource; signal: AbortSignal; seconds?: number | undefined },
): Promise<FinishedVideo> {
  const { signal, source, seconds } = options;
  const limits = { pixelsMax: pixelsMax(size.width, size.height), signal };
  const verified = await verifyVideo(ffmpeg, input, size, signal);
  const copyVideo = canCopy(verified, size);
  const { container } = verified;
  const atSeconds = verified.probe.durationMs > POSTER_SECONDS * 2000 ? POSTER_SECONDS : 0;
  const still = { path: join(options.folder, 'still.png'), atSeconds };
  const make = async (): Promise<FinishedVideo> => {
    await ffmpeg.toMp4(input, path, {
      ...limits,
      ...size,
      container,
      copyVideo,
      copyAudio: verified.probe.audioCodec === 'aac',
      comment: digitalSourceUri(source),
      ...(copyVideo ? {} : { still }),
    });
    const taken = copyVideo
      ? ffmpeg.poster(path, still.path, { ...limits, container: 'mov', atSeconds })
      : Promise.resolve();
    const [probe, stills] = await runAllToEnd<[VideoProbe, Stills]>([
      verifyMade(ffmpeg, path, verified.probe, { size, seconds }, signal),
      taken.then(() => makeStills(still.path, size, source)),
    ]);
    return { probe, ...stills };
  };
  // Re-encoding detects broken frames; copying passes them on.
  const check = copyVideo ? ffmpeg.verifyFrames(input, { ...limits, container }) : Promise.resolve();
  const [, finished] = await runAllToEnd<[unknown, FinishedVideo]>([check, make()]);
  return finished;
}

/**
 * Checks the result, because even a truncated input can produce a file. Its length is checked here, because not every input states one: a
 * customer pays by the second for a video that lasts that long.
 */
async function verifyMade(
  ffmpeg: Ffmpeg,
  path: string,
  announced: VideoProbe,
  { size, seconds }: { size: Size; seconds: number | undefined },
  signal: AbortSignal,
): Promise<VideoProbe> {
  const { probe } = await verifyVideo(ffmpeg, path, size, signal);
  if (probe.frames < 1 || probe.durationMs < announced.durationMs * DURATION_KEPT_MIN) {
    throw new MediaError(
      'media_corrupt',
      `only ${probe.durationMs} of ${announced.durationMs} ms of the video can be read`,
    );
  }
  if (seconds !== undefined && !coversLength(probe.durationMs, seconds)) {
    throw new MediaError(
      'media_length_mismatch',
      `the video is shorter than requested: ${probe.durationMs} ms for ${seconds} s`,
    );
  }
  return probe;
}

/** Makes the poster and the thumbnail from one frame. */
async function makeStills(path: string, size: Size, source: DigitalSource): Promise<Stills> {
  const image = await openImage(path, size);
  const [poster, thumbnail] = await runAllToEnd<[Buffer, MadeThumbnail]>([
    makeImage(image, size, { format: 'webp', source }),
    makeThumbnail(image, size, source),
  ]);
  return { poster, thumbnail };
}

function canCopy({ container, probe }: VerifiedVideo, size: Size): boolean {
  const sized = probe.width === size.width && probe.height === size.height && !probe.distorted;
  return container === 'mov' && probe.codec === 'h264' && probe.pixelFormat === 'yuv420p' && sized;
}

/**
 * Checks an engine's video against its request: container (by magic bytes), file size, pixels, duration. Throws MediaError
 * media_type_refused, media_too_large, media_pixel_limit, media_size_mismatch, media_too_long, media_corrupt.
 */
async function verifyVideo(
  ffmpeg: Ffmpeg,
  path: string,
  requested: Size,
  signal: AbortSignal,
): Promise<VerifiedVideo> {
  const { type } = await identifyFile(path, 'video', VIDEO_BYTES_MAX);
  const container = type as VideoContainer;
  const pixels = pixelsMax(requested.width, requested.height);
  const probe = await ffmpeg.probe(path, { container, pixelsMax: pixels, signal });
  if (probe.width * probe.height > pixels) {
    throw new MediaError('media_pixel_limit', `the video has ${probe.width}x${probe.height} pixels`);
  }
  if (!coversRequest(probe, requested)) {
    const sizes = `${probe.width}x${probe.height} for ${requested.width}x${requested.height}`;
    throw new MediaError('media_size_mismatch', `the video is smaller than requested: ${sizes}`);
  }
  if (isTooLong(probe)) {
    throw new MediaError('media_too_long', `the video lasts ${probe.durationMs} ms`);
  }
  return { container, probe };
}

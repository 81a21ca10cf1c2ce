import { join } from 'node:path';
import type { Ffmpeg } from './ffmpeg.ts';
import type { VideoProbe } from './ffprobe.ts';
import { writeImage, writeThumbnail } from './image.ts';
import { openImage } from './image-file.ts';
import { MediaError } from './media-error.ts';
import { pixelsMax, type Size } from './media-limits.ts';
import { type DigitalSource, digitalSourceUri } from './provenance.ts';
import { type VerifiedVideo, verifyVideo } from './verify-video.ts';

export interface FinishedVideo {
  readonly probe: VideoProbe;
  readonly thumbnail: Size;
}

export interface VideoPaths {
  readonly video: string;
  readonly poster: string;
  readonly thumbnail: string;
}

/** Where in the video its poster is taken, in seconds: past a possible fade-in. */
const POSTER_SECONDS = 0.5;

/** Share of the announced duration that must survive; frame rates that do not divide evenly cost a frame. */
const DURATION_KEPT_MIN = 0.9;

/** Turns an engine's video into a streamable MP4 of the requested size with poster and thumbnail. Throws MediaError. */
export async function finishVideo(
  ffmpeg: Ffmpeg,
  input: string,
  size: Size,
  paths: VideoPaths,
  options: { folder: string; source: DigitalSource; signal: AbortSignal },
): Promise<FinishedVideo> {
  const { signal, source } = options;
  const limits = { pixelsMax: pixelsMax(size.width, size.height), signal };
  const verified = await verifyVideo(ffmpeg, input, size, signal);
  const copyVideo = canCopy(verified, size);
  if (copyVideo) {
    // Encoding anew would meet broken pictures by itself; a copy passes them on.
    await ffmpeg.checkPictures(input, { ...limits, container: verified.container });
  }
  await ffmpeg.toMp4(input, paths.video, {
    ...limits,
    ...size,
    container: verified.container,
    copyVideo,
    copyAudio: verified.probe.audioCodec === 'aac',
    comment: digitalSourceUri(source),
  });
  // A truncated input can still give a file: what counts is what came out.
  const made = await verifyVideo(ffmpeg, paths.video, size, signal);
  if (made.probe.frames < 1 || made.probe.durationMs < verified.probe.durationMs * DURATION_KEPT_MIN) {
    throw new MediaError(
      'media_corrupt',
      `only ${made.probe.durationMs} of ${verified.probe.durationMs} ms can be read`,
    );
  }
  const still = join(options.folder, 'still.png');
  const atSeconds = made.probe.durationMs > POSTER_SECONDS * 2000 ? POSTER_SECONDS : 0;
  await ffmpeg.poster(paths.video, still, { ...limits, container: 'mov', atSeconds });
  const image = await openImage(still, size);
  await writeImage(image, size, paths.poster, { format: 'webp', source });
  const thumbnail = await writeThumbnail(image, size, paths.thumbnail, source);
  return { probe: made.probe, thumbnail };
}

function canCopy({ container, probe }: VerifiedVideo, size: Size): boolean {
  const sized = probe.width === size.width && probe.height === size.height && !probe.distorted;
  return container === 'mov' && probe.codec === 'h264' && probe.pixelFormat === 'yuv420p' && sized;
}

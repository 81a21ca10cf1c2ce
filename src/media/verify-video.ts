import type { Ffmpeg } from './ffmpeg.ts';
import type { VideoProbe } from './ffprobe.ts';
import { identifyFile, type VideoContainer } from './file-signature.ts';
import { MediaError } from './media-error.ts';
import {
  coversRequest,
  pixelsMax,
  type Size,
  VIDEO_BYTES_MAX,
  VIDEO_DURATION_MS_MAX,
  VIDEO_FRAMES_MAX,
} from './media-limits.ts';

export interface VerifiedVideo {
  readonly container: VideoContainer;
  readonly probe: VideoProbe;
}

/**
 * Checks an engine's video against its request: container by magic bytes, bytes, pixels, length. Throws MediaError
 * media_type_refused, media_too_large, media_pixel_limit, media_size_mismatch, media_too_long, media_corrupt.
 */
export async function verifyVideo(
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
    throw new MediaError('media_size_mismatch', `the video is smaller than asked for: ${sizes}`);
  }
  if (probe.durationMs > VIDEO_DURATION_MS_MAX || probe.frames > VIDEO_FRAMES_MAX) {
    throw new MediaError('media_too_long', `the video lasts ${probe.durationMs} ms`);
  }
  return { container, probe };
}

/** Bytes of one image file from an engine. */
export const IMAGE_BYTES_MAX = 32 * 1024 * 1024;
/** Bytes of one video file from an engine, and of what we make of it. */
export const VIDEO_BYTES_MAX = 512 * 1024 * 1024;
/** Engines with fixed sizes may return more than was asked for: up to this many times the pixels … */
const PIXEL_FACTOR_MAX = 4;
/** … or this many pixels, whichever is more (hosted services have smallest sizes of about 1024 × 1024). */
const PIXELS_ALWAYS_ALLOWED = 2048 * 2048;
/** Smallest accepted side relative to the request; engines that round sizes down stay within it. */
export const SIDE_RATIO_MIN = 0.9;
export const VIDEO_DURATION_MS_MAX = 120_000;
export const VIDEO_FRAMES_MAX = 7_200;
/** Longer side of thumbnails, in pixels. */
export const THUMBNAIL_SIDE = 320;

/** Pixels a decoder may produce for a request of width × height. */
export function pixelsMax(width: number, height: number): number {
  return Math.max(width * height * PIXEL_FACTOR_MAX, PIXELS_ALWAYS_ALLOWED);
}

/** Whether a delivered size can fill the requested one without visible enlargement. */
export function coversRequest(delivered: Size, requested: Size): boolean {
  return (
    delivered.width >= requested.width * SIDE_RATIO_MIN &&
    delivered.height >= requested.height * SIDE_RATIO_MIN
  );
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

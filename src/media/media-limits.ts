/** Maximum size of one image file from an engine, in bytes. */
export const IMAGE_BYTES_MAX = 32 * 1024 * 1024;
/** Maximum size of one video file from an engine, and of the file we make from it, in bytes. */
export const VIDEO_BYTES_MAX = 512 * 1024 * 1024;
/** Engines with fixed sizes may return more than requested: up to this many times the pixels … */
const PIXEL_FACTOR_MAX = 4;
/** … or this many pixels, whichever is more (the smallest sizes of hosted services are about 1024 × 1024). */
const PIXELS_ALWAYS_ALLOWED = 2048 * 2048;
/** Smallest accepted side relative to the request. Leaves room for engines that round sizes down. */
export const SIDE_RATIO_MIN = 0.9;
/** Largest part of a requested length that may be missing: engines round to whole groups of frames … */
const LENGTH_MISSING_MAX = 0.2;
/** … which weighs more in a short video: up to this many ms are always accepted. */
const LENGTH_MISSING_MS = 400;
/** Maximum length of a video that can be ordered, and of the file we make. */
export const VIDEO_DURATION_MS_MAX = 120_000;
/** An engine's file may be this much longer, because engines round up to whole groups of frames: it is cut. */
const SURPLUS_MS_MAX = 2_000;
const FRAMES_PER_SECOND_MAX = 60;
/** Longer side of thumbnails, in pixels. */
export const THUMBNAIL_SIDE = 320;

/** Returns the maximum number of pixels a decoder may produce for a request of width × height. */
export function pixelsMax(width: number, height: number): number {
  return Math.max(width * height * PIXEL_FACTOR_MAX, PIXELS_ALWAYS_ALLOWED);
}

/** Returns whether a delivered size can fill the requested one without visible upscaling. */
export function coversRequest(delivered: Size, requested: Size): boolean {
  return (
    delivered.width >= requested.width * SIDE_RATIO_MIN &&
    delivered.height >= requested.height * SIDE_RATIO_MIN
  );
}

/** Returns whether a delivered length can pass for the requested one. */
export function coversLength(deliveredMs: number, seconds: number): boolean {
  const requestedMs = seconds * 1000;
  return requestedMs - deliveredMs <= Math.max(requestedMs * LENGTH_MISSING_MAX, LENGTH_MISSING_MS);
}

/** Returns whether a video is longer than any order, as far as its header says. */
export function isTooLong({ durationMs, frames }: { durationMs: number; frames: number }): boolean {
  const mostMs = VIDEO_DURATION_MS_MAX + SURPLUS_MS_MAX;
  return durationMs > mostMs || frames > (mostMs / 1_000) * FRAMES_PER_SECOND_MAX;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

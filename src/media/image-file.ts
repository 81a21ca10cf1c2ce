import sharp, { type Sharp } from 'sharp';
import { bytesOf, type FileContent } from '../lib/file-content.ts';
import { identifyContent, signatureOf } from './file-signature.ts';
import { MediaError } from './media-error.ts';
import { coversRequest, IMAGE_BYTES_MAX, pixelsMax, type Size } from './media-limits.ts';
import { type CopyablePng, copyablePng } from './png-copy.ts';

/** Seconds one image operation may take. */
export const IMAGE_SECONDS_MAX = 30;

// Process-wide settings of the image library, made where it is first imported. Decoders for SVG, PDF, TIFF, GIF, HEIF and
// the rest are switched off: our inputs are hostile and three formats are all we take. No cache: files are read once.
sharp.cache(false);
sharp.concurrency(1);
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({
  operation: ['VipsForeignLoadPngBuffer', 'VipsForeignLoadJpegBuffer', 'VipsForeignLoadWebpBuffer'],
});

/** A checked image, ready to be decoded within its pixel limit. */
export interface OpenedImage extends Size {
  /** Present where the pixel data can be handed on as it is. */
  readonly png: CopyablePng | undefined;
  /** A new pipeline over its pixels. */
  pipeline(): Sharp;
}

/**
 * Opens an engine's image for a request: type by magic bytes, size, pixels. Throws {@link MediaError}
 * media_type_refused, media_too_large, media_pixel_limit, media_size_mismatch, media_corrupt.
 */
export async function openImage(content: FileContent, requested: Size): Promise<OpenedImage> {
  const { type } = await identifyContent(content, 'image', IMAGE_BYTES_MAX);
  const bytes = await bytesOf(content);
  const limitInputPixels = pixelsMax(requested.width, requested.height);
  const pipeline = () =>
    sharp(bytes, { failOn: 'warning', limitInputPixels, sequentialRead: true }).timeout({
      seconds: IMAGE_SECONDS_MAX,
    });
  const png = type === 'png' ? copyablePng(bytes) : undefined;
  // A PNG of the plain kind says it all in its header.
  const { format, width, height } = png
    ? { ...png, format: type }
    : await guardImage(() => pipeline().metadata());
  if (format !== type) {
    throw new MediaError('media_type_refused', 'the image is not of the type that its first bytes declare');
  }
  if (!coversRequest({ width, height }, requested)) {
    const sizes = `${width}x${height} for ${requested.width}x${requested.height}`;
    throw new MediaError('media_size_mismatch', `the image is smaller than asked for: ${sizes}`);
  }
  return { width, height, png, pipeline };
}

/**
 * The size that an image's header tells, of PNG, JPEG and WebP; undefined for everything else. The first part of a file is enough,
 * except of a WebP.
 */
export async function sizeInHeader(bytes: Buffer): Promise<Size | undefined> {
  if (signatureOf(bytes)?.kind !== 'image') {
    return undefined;
  }
  try {
    const { width, height } = await sharp(bytes, { sequentialRead: true }).metadata();
    return { width, height };
  } catch {
    // the decoder says what is wrong with it
    return undefined;
  }
}

/** Runs an image operation and turns the library's complaints into {@link MediaError}. */
export async function guardImage<Result>(operation: () => Promise<Result>): Promise<Result> {
  try {
    return await operation();
  } catch (error) {
    if (error instanceof MediaError) {
      throw error;
    }
    const message = error instanceof Error ? error.message : '';
    if (/pixel limit/i.test(message)) {
      throw new MediaError('media_pixel_limit', 'the image has more pixels than asked for', { cause: error });
    }
    if (/timeout/i.test(message)) {
      throw new MediaError('media_tool_timeout', 'decoding the image took too long', { cause: error });
    }
    throw new MediaError('media_corrupt', 'the image cannot be decoded', { cause: error });
  }
}

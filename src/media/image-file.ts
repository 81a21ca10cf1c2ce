import sharp, { type Metadata, type Sharp } from 'sharp';
import { bytesOf, type FileContent } from '../lib/file-content.ts';
import { identifyContent, signatureOf } from './file-signature.ts';
import { MediaError } from './media-error.ts';
import { coversRequest, IMAGE_BYTES_MAX, pixelsMax, type Size } from './media-limits.ts';
import { type CopyablePng, copyablePng } from './png-copy.ts';

/** Maximum duration of one image operation, in seconds. */
export const IMAGE_SECONDS_MAX = 30;
/** The first EXIF orientation whose width is the height of the stored pixels. */
const TURNED_FROM = 5;

// Process-wide settings of the image library, applied where it is first imported. Decoders for SVG, PDF, TIFF, GIF, HEIF and others are
// disabled: our inputs are untrusted and we accept only three formats. No cache, because each file is read once.
sharp.cache(false);
sharp.concurrency(1);
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({
  operation: ['VipsForeignLoadPngBuffer', 'VipsForeignLoadJpegBuffer', 'VipsForeignLoadWebpBuffer'],
});

/** A validated image, ready to be decoded within its pixel limit. */
export interface OpenedImage extends Size {
  /** Present when the pixel data can be passed on unchanged. */
  readonly png: CopyablePng | undefined;
  /** Creates a new pipeline over its pixels, turned as its metadata says: that is dropped with the rest of the metadata. */
  pipeline(): Sharp;
}

/**
 * Opens an engine's image for a request and checks its type (by magic bytes), size and pixels. Throws {@link MediaError}
 * media_type_refused, media_too_large, media_pixel_limit, media_size_mismatch, media_corrupt.
 */
export async function openImage(content: FileContent, requested: Size): Promise<OpenedImage> {
  const { type } = await identifyContent(content, 'image', IMAGE_BYTES_MAX);
  const bytes = await bytesOf(content);
  const limitInputPixels = pixelsMax(requested.width, requested.height);
  const pipeline = () =>
    sharp(bytes, { failOn: 'warning', limitInputPixels, sequentialRead: true })
      .autoOrient()
      .timeout({ seconds: IMAGE_SECONDS_MAX });
  const png = type === 'png' ? copyablePng(bytes) : undefined;
  // A copyable PNG has been identified from its header already.
  const { format, width, height, isDeep } = png
    ? { ...png, format: type, isDeep: false }
    : await guardImage(async () => upright(await pipeline().metadata()));
  if (format !== type) {
    throw new MediaError(
      'media_type_refused',
      'the image does not have the type that its first bytes indicate',
    );
  }
  if (!coversRequest({ width, height }, requested)) {
    const sizes = `${width}x${height} for ${requested.width}x${requested.height}`;
    throw new MediaError('media_size_mismatch', `the image is smaller than requested: ${sizes}`);
  }
  // Otherwise the library leaves pixels of 16 bits that have a color profile in Display P3, and everything looks pale.
  return { width, height, png, pipeline: isDeep ? () => pipeline().pipelineColourspace('srgb') : pipeline };
}

/**
 * Returns the size in the header of a PNG, JPEG or WebP; undefined for everything else. The first part of a file is enough, except for
 * WebP.
 */
export async function sizeInHeader(bytes: Buffer): Promise<Size | undefined> {
  if (signatureOf(bytes)?.kind !== 'image') {
    return undefined;
  }
  try {
    const { width, height } = upright(await sharp(bytes, { sequentialRead: true }).metadata());
    return { width, height };
  } catch {
    // Decoding the image will report what is wrong with it.
    return undefined;
  }
}

/** Returns the header with the size that the image is shown with: EXIF orientations from 5 on turn it by 90 degrees. */
function upright(header: Metadata): Pick<Metadata, 'format' | 'width' | 'height'> & { isDeep: boolean } {
  const { format, width, height, orientation = 1 } = header;
  const isDeep = header.depth === 'ushort';
  return orientation >= TURNED_FROM
    ? { format, width: height, height: width, isDeep }
    : { format, width, height, isDeep };
}

/** Runs an image operation and converts the library's errors into {@link MediaError}. */
export async function guardImage<Result>(operation: () => Promise<Result>): Promise<Result> {
  try {
    return await operation();
  } catch (error) {
    if (error instanceof MediaError) {
      throw error;
    }
    const message = error instanceof Error ? error.message : '';
    if (/pixel limit/i.test(message)) {
      throw new MediaError('media_pixel_limit', 'the image has too many pixels for the requested size', {
        cause: error,
      });
    }
    if (/timeout/i.test(message)) {
      throw new MediaError('media_tool_timeout', 'decoding the image took too long', { cause: error });
    }
    throw new MediaError('media_corrupt', 'the image cannot be decoded', { cause: error });
  }
}

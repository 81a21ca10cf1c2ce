import sharp, { type Sharp } from 'sharp';
import { guardImage, IMAGE_SECONDS_MAX, type OpenedImage } from './image-file.ts';
import { type Size, THUMBNAIL_SIDE } from './media-limits.ts';
import { type DigitalSource, provenanceXmp } from './provenance.ts';

export type ImageFormat = 'png' | 'jpeg' | 'webp';

export interface ImageWriteOptions {
  readonly format: ImageFormat;
  readonly source: DigitalSource;
}

export interface MadeThumbnail extends Size {
  readonly bytes: Buffer;
}

/** 0–6. Higher values take twice the time for files that are a few percent smaller. */
const WEBP_EFFORT = 1;

/**
 * Re-encodes an image from its pixels at exactly the requested size (filled, cropped at the center). This removes all metadata of the
 * engine and adds the digital source type. Throws MediaError.
 */
export async function makeImage(image: OpenedImage, size: Size, options: ImageWriteOptions): Promise<Buffer> {
  const sized = isOfSize(image, size)
    ? image.pipeline()
    : image.pipeline().resize(size.width, size.height, { fit: 'cover', position: 'centre' });
  return await guardImage(() => encode(sized, options).toBuffer());
}

/**
 * Returns a PNG of the requested size with the pixel data as the engine compressed it, but without its metadata; undefined when it has to
 * be re-encoded. If the image is its own thumbnail, this function checks that the pixels can be decoded; for larger images {@link
 * makeThumbnail} finds out.
 */
export async function copyImage(
  image: OpenedImage,
  size: Size,
  source: DigitalSource,
): Promise<Buffer | undefined> {
  const { png } = image;
  if (!png || !isOfSize(image, size) || (isThumbnail(size) && !(await png.isSound()))) {
    return undefined;
  }
  return png.write(provenanceXmp(source));
}

/** Returns whether an image is small enough to be its own thumbnail. */
export function isThumbnail(size: Size): boolean {
  return Math.max(size.width, size.height) <= THUMBNAIL_SIDE;
}

/**
 * Makes a WebP whose longer side is {@link THUMBNAIL_SIDE} pixels (never enlarged) from an image requested at `size`. An image of exactly
 * that size is decoded to its last pixel, so the thumbnail of a copied image proves that it can be decoded. Throws MediaError.
 */
export async function makeThumbnail(
  image: OpenedImage,
  size: Size,
  source: DigitalSource,
): Promise<MadeThumbnail> {
  const scale = Math.min(1, THUMBNAIL_SIDE / Math.max(size.width, size.height));
  const width = Math.max(1, Math.round(size.width * scale));
  const height = Math.max(1, Math.round(size.height * scale));
  // Rounding must not crop a row, because every row has to be decoded.
  const fit = isOfSize(image, size) ? 'fill' : 'cover';
  const sized = image.pipeline().resize(width, height, { fit, position: 'centre' });
  const bytes = await guardImage(() => encode(sized, { format: 'webp', source }).toBuffer());
  return { width, height, bytes };
}

/** Writes width × height × 3 bytes of sRGB as a PNG with fast compression, for engines that draw in this process. */
export async function encodePng(
  pixels: Uint8Array<ArrayBuffer>,
  width: number,
  height: number,
  path: string,
): Promise<void> {
  await sharp(pixels, { raw: { width, height, channels: 3 } })
    .timeout({ seconds: IMAGE_SECONDS_MAX })
    .png({ compressionLevel: 2 })
    .toFile(path);
}

function isOfSize(image: Size, size: Size): boolean {
  return image.width === size.width && image.height === size.height;
}

function encode(pipeline: Sharp, options: ImageWriteOptions): Sharp {
  const stated = pipeline.withXmp(provenanceXmp(options.source));
  if (options.format === 'jpeg') {
    return stated.flatten({ background: '#ffffff' }).jpeg({ quality: 92, chromaSubsampling: '4:4:4' });
  }
  return options.format === 'webp'
    ? stated.webp({ quality: 80, effort: WEBP_EFFORT })
    : stated.png({ compressionLevel: 6 });
}

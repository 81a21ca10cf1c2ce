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

/** 0–6. Higher ones take twice the time for files a few percent smaller. */
const WEBP_EFFORT = 1;

/**
 * An image at exactly the requested size (filled, cropped at the centre), re-encoded from its pixels: whatever metadata the
 * engine wrote is gone, the digital source type is stated. Throws MediaError.
 */
export async function makeImage(image: OpenedImage, size: Size, options: ImageWriteOptions): Promise<Buffer> {
  const sized = isOfSize(image, size)
    ? image.pipeline()
    : image.pipeline().resize(size.width, size.height, { fit: 'cover', position: 'centre' });
  return await guardImage(() => encode(sized, options).toBuffer());
}

/**
 * A PNG of the requested size with the pixel data that the engine compressed; undefined where it has to be re-encoded. Of what stood
 * beside the pixels nothing is left. That they can be decoded is found out here for a picture that is its own thumbnail; for others
 * by {@link makeThumbnail}.
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

/** Whether a picture is so small that it is its own thumbnail. */
export function isThumbnail(size: Size): boolean {
  return Math.max(size.width, size.height) <= THUMBNAIL_SIDE;
}

/**
 * A WebP whose longer side is {@link THUMBNAIL_SIDE} pixels (never enlarged), of an image for that size. An image of that very size is
 * decoded to its last pixel: the thumbnail of a copied one is the proof that it can be. Throws MediaError.
 */
export async function makeThumbnail(
  image: OpenedImage,
  size: Size,
  source: DigitalSource,
): Promise<MadeThumbnail> {
  const scale = Math.min(1, THUMBNAIL_SIDE / Math.max(size.width, size.height));
  const width = Math.max(1, Math.round(size.width * scale));
  const height = Math.max(1, Math.round(size.height * scale));
  // Rounding must not crop a row away unseen.
  const fit = isOfSize(image, size) ? 'fill' : 'cover';
  const sized = image.pipeline().resize(width, height, { fit, position: 'centre' });
  const bytes = await guardImage(() => encode(sized, { format: 'webp', source }).toBuffer());
  return { width, height, bytes };
}

/** Writes width × height × 3 bytes of sRGB as a quickly compressed PNG, for engines that draw themselves. */
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

import sharp, { type Sharp } from 'sharp';
import { guardImage, IMAGE_SECONDS_MAX, type OpenedImage } from './image-file.ts';
import { type Size, THUMBNAIL_SIDE } from './media-limits.ts';
import { type DigitalSource, provenanceXmp } from './provenance.ts';

export type ImageFormat = 'png' | 'jpeg' | 'webp';

export interface ImageWriteOptions {
  readonly format: ImageFormat;
  readonly source: DigitalSource;
}

/** 0–6. Higher ones take twice the time for files a few percent smaller. */
const WEBP_EFFORT = 1;

/**
 * Writes an image at exactly the requested size (filled, cropped at the centre), re-encoded from its pixels: whatever
 * metadata the engine wrote is gone, the digital source type is stated. Throws MediaError.
 */
export async function writeImage(
  image: OpenedImage,
  size: Size,
  path: string,
  options: ImageWriteOptions,
): Promise<void> {
  const sized =
    image.width === size.width && image.height === size.height
      ? image.pipeline()
      : image.pipeline().resize(size.width, size.height, { fit: 'cover', position: 'centre' });
  await guardImage(() => encode(sized, options).toFile(path));
}

/** Writes a WebP whose longer side is {@link THUMBNAIL_SIDE} pixels (never enlarged). Returns its size. */
export async function writeThumbnail(
  image: OpenedImage,
  size: Size,
  path: string,
  source: DigitalSource,
): Promise<Size> {
  const scale = Math.min(1, THUMBNAIL_SIDE / Math.max(size.width, size.height));
  const width = Math.max(1, Math.round(size.width * scale));
  const height = Math.max(1, Math.round(size.height * scale));
  const sized = image.pipeline().resize(width, height, { fit: 'cover', position: 'centre' });
  await guardImage(() => encode(sized, { format: 'webp', source }).toFile(path));
  return { width, height };
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

function encode(pipeline: Sharp, options: ImageWriteOptions): Sharp {
  const stated = pipeline.withXmp(provenanceXmp(options.source));
  if (options.format === 'jpeg') {
    return stated.flatten({ background: '#ffffff' }).jpeg({ quality: 92, chromaSubsampling: '4:4:4' });
  }
  return options.format === 'webp'
    ? stated.webp({ quality: 80, effort: WEBP_EFFORT })
    : stated.png({ compressionLevel: 6 });
}

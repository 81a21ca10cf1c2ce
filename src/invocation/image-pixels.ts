import { sizeInHeader } from '../media/image-file.ts';

/** Headers stand in so many of the first characters of base64, but for large WebP files. */
const HEADER_BASE64 = 262_144;
/** Models see images in patches of up to so many pixels a side, begun ones included. */
const PATCH_SIDE = 32;

/**
 * Pixels of inline images (base64), in whole patches, as far as their headers tell: one number for each that could be read. A
 * few ms for each, off the event loop.
 */
export async function imagePixels(images: readonly string[]): Promise<number[]> {
  const pixels: number[] = [];
  for (const image of images) {
    const size = await sizeInHeader(Buffer.from(image.slice(0, HEADER_BASE64), 'base64'));
    if (size) {
      pixels.push(inPatches(size.width) * inPatches(size.height));
    }
  }
  return pixels;
}

function inPatches(side: number): number {
  return Math.ceil(side / PATCH_SIDE) * PATCH_SIDE;
}

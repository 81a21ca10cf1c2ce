import { type InflateRaw, inflate } from 'node:zlib';

/** What inflating with `info` answers; the types of Node's own documentation lack it. */
interface Inflated {
  readonly buffer: Buffer;
  readonly engine: Pick<InflateRaw, 'bytesWritten'>;
}

/** Filter types of a row are 0 to 4 (PNG specification, third edition, section 9.2). */
const FILTER_TYPE_MAX = 4;

/**
 * Whether compressed pixel data are just the rows of a picture that is not interlaced: the stream is whole and its checksum right, every
 * row has its length and a known filter, and nothing hides behind them. Undoing the filters can't fail, so the rest is a decoder's
 * arithmetic. `rowBytes`: without the byte that names the filter.
 */
export async function isSoundPixelData(compressed: Buffer, rowBytes: number, rows: number): Promise<boolean> {
  const stride = rowBytes + 1;
  const inflated = await inflateExactly(compressed, stride * rows);
  if (inflated === undefined) {
    return false;
  }
  for (let at = 0; at < inflated.length; at += stride) {
    if (inflated.readUInt8(at) > FILTER_TYPE_MAX) {
      return false;
    }
  }
  return true;
}

/** Undefined unless all the bytes given become that many, not one less or more. */
async function inflateExactly(compressed: Buffer, bytes: number): Promise<Buffer | undefined> {
  return await new Promise((resolve) => {
    const options = { chunkSize: bytes + 1, maxOutputLength: bytes, info: true };
    inflate(compressed, options, (error, result) => {
      const inflated = result as unknown as Inflated | undefined;
      const exact =
        !error && inflated?.buffer.length === bytes && inflated.engine.bytesWritten === compressed.length;
      resolve(exact ? inflated.buffer : undefined);
    });
  });
}

import { crc32, type InflateRaw, inflate } from 'node:zlib';
import type { Size } from './media-limits.ts';

/** The result of inflating with `info`, which Node's type definitions lack. */
interface Inflated {
  readonly buffer: Buffer;
  readonly engine: Pick<InflateRaw, 'bytesWritten'>;
}

/** The filter type of a row is 0 to 4 (PNG specification, third edition, section 9.2). */
const FILTER_TYPE_MAX = 4;

/** A PNG whose pixel data can be copied without re-encoding. */
export interface CopyablePng extends Size {
  /** Writes the same encoded pixels with no metadata but the XMP packet. */
  write(xmp: string): Buffer;
  /** Checks without a decoder that every pixel can be decoded. For small images this takes a fraction of a decoder's time. */
  isSound(): Promise<boolean>;
}

interface Chunk {
  readonly type: string;
  /** The chunk's bytes: length, type, data and checksum. */
  readonly whole: Buffer;
  readonly data: Buffer;
}

const SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex');
const HEADER_BYTES = 13;
/** Chunks that do not affect how the pixels look, so they are dropped. `eXIf` does: it may say that the image has to be turned. */
const DROPPED = new Set(['tEXt', 'zTXt', 'iTXt', 'tIME', 'pHYs', 'sRGB', 'caBX']);
const CHANNELS: Readonly<Record<number, number>> = { 2: 3, 6: 4 };
/** An image that is barely compressed is worth re-encoding, because it is usually downloaded more than once. */
const COMPRESSED_SHARE_MAX = 0.9;

/**
 * Returns the PNG in those bytes if its pixel data can be passed on unchanged: 8-bit RGB or RGBA, not interlaced, no palette, no color
 * profile, one image, compressed. Reads only the chunk structure; the decoder or `isSound` finds out whether the pixels can be decoded.
 */
export function copyablePng(bytes: Buffer): CopyablePng | undefined {
  const chunks = readChunks(bytes);
  const header = chunks?.[0];
  if (!chunks || header?.type !== 'IHDR' || header.data.length !== HEADER_BYTES) {
    return undefined;
  }
  const [depth, colourType = -1, ...methods] = header.data.subarray(8);
  const channels = CHANNELS[colourType];
  if (depth !== 8 || channels === undefined || methods.some((method) => method !== 0)) {
    return undefined;
  }
  const body = chunks.slice(1, -1).filter(({ type }) => !DROPPED.has(type));
  if (body.length === 0 || body.some(({ type }) => type !== 'IDAT')) {
    return undefined;
  }
  const width = header.data.readUInt32BE(0);
  const height = header.data.readUInt32BE(4);
  const compressed = body.reduce((sum, { data }) => sum + data.length, 0);
  if (compressed > width * height * channels * COMPRESSED_SHARE_MAX) {
    return undefined;
  }
  const pixels = body.map(({ whole }) => whole);
  return {
    width,
    height,
    write: (xmp) => Buffer.concat([SIGNATURE, header.whole, xmpChunk(xmp), ...pixels, pngChunk('IEND')]),
    isSound: async () =>
      [header, ...body].every(hasRightChecksum) &&
      (await isSoundPixelData(Buffer.concat(body.map(({ data }) => data)), width * channels, height)),
  };
}

/**
 * Returns the chunks up to and including IEND; undefined when their lengths do not add up. Anything after IEND is not part of the image.
 */
function readChunks(bytes: Buffer): Chunk[] | undefined {
  if (!bytes.subarray(0, SIGNATURE.length).equals(SIGNATURE)) {
    return undefined;
  }
  const chunks: Chunk[] = [];
  for (let at = SIGNATURE.length; at + 12 <= bytes.length; ) {
    const end = at + 12 + bytes.readUInt32BE(at);
    if (end > bytes.length) {
      return undefined;
    }
    const type = bytes.toString('latin1', at + 4, at + 8);
    chunks.push({ type, whole: bytes.subarray(at, end), data: bytes.subarray(at + 8, end - 4) });
    if (type === 'IEND') {
      return chunks;
    }
    at = end;
  }
  return undefined;
}

/** Returns the checksum of type and data; `whole` also has the length before and the checksum after them. */
function checksumOf(whole: Buffer): number {
  return crc32(whole.subarray(4, -4));
}

function hasRightChecksum({ whole }: Chunk): boolean {
  return checksumOf(whole) === whole.readUInt32BE(whole.length - 4);
}

/** Builds an uncompressed iTXt chunk as defined in the XMP specification, part 3. */
function xmpChunk(xmp: string): Buffer {
  return pngChunk('iTXt', Buffer.from(`XML:com.adobe.xmp\0\0\0\0\0${xmp}`, 'utf8'));
}

/** Builds a chunk of a PNG; see section 5.3 of its specification. */
export function pngChunk(type: string, data: Buffer = Buffer.alloc(0)): Buffer {
  const whole = Buffer.alloc(data.length + 12);
  whole.writeUInt32BE(data.length, 0);
  whole.write(type, 4, 'latin1');
  data.copy(whole, 8);
  whole.writeUInt32BE(checksumOf(whole), data.length + 8);
  return whole;
}

/**
 * Returns whether compressed pixel data are exactly the rows of a non-interlaced image: the stream is complete and its checksum is right,
 * every row has its full length and a known filter, and nothing follows them. Undoing the filters cannot fail, so the rest is arithmetic in
 * the decoder. `rowBytes` excludes the byte that names the filter.
 */
async function isSoundPixelData(compressed: Buffer, rowBytes: number, rows: number): Promise<boolean> {
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

/** Inflates data that must have exactly that many bytes; undefined when it has fewer or more, or when input is left over. */
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

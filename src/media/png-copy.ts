import { crc32, type InflateRaw, inflate } from 'node:zlib';
import type { Size } from './media-limits.ts';

/** What inflating with `info` answers; the types of Node's own documentation lack it. */
interface Inflated {
  readonly buffer: Buffer;
  readonly engine: Pick<InflateRaw, 'bytesWritten'>;
}

/** Filter types of a row are 0 to 4 (PNG specification, third edition, section 9.2). */
const FILTER_TYPE_MAX = 4;

/** A PNG whose pictures need no encoding. */
export interface CopyablePng extends Size {
  /** The same pixels in the same encoding, with nothing beside them but the XMP packet. */
  write(xmp: string): Buffer;
  /** Whether every pixel can be decoded, found without decoding them: for small pictures in a fraction of a decoder's time. */
  isSound(): Promise<boolean>;
}

interface Chunk {
  readonly type: string;
  /** Length, type, data and checksum. */
  readonly whole: Buffer;
  readonly data: Buffer;
}

const SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex');
const HEADER_BYTES = 13;
/** What says nothing of how the pixels look: left out. */
const DROPPED = new Set(['tEXt', 'zTXt', 'iTXt', 'tIME', 'eXIf', 'pHYs', 'sRGB', 'caBX']);
const CHANNELS: Readonly<Record<number, number>> = { 2: 3, 6: 4 };
/** A picture that is hardly compressed is worth encoding: it is downloaded more often than once. */
const COMPRESSED_SHARE_MAX = 0.9;

/**
 * The PNG of those bytes if its pixel data can be handed on as it is: 8-bit RGB or RGBA, not interlaced, no palette, no colour
 * profile, one picture, compressed. Reads the frame only; whether the pixels can be decoded is for the decoder or `isSound` to say.
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

/** The chunks up to and with IEND; undefined when they do not follow each other. What comes behind IEND is no part of the picture. */
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

/** Of type and data; `whole` has room for length and checksum around them. */
function checksumOf(whole: Buffer): number {
  return crc32(whole.subarray(4, -4));
}

function hasRightChecksum({ whole }: Chunk): boolean {
  return checksumOf(whole) === whole.readUInt32BE(whole.length - 4);
}

/** As in the XMP specification, part 3: an uncompressed iTXt chunk. */
function xmpChunk(xmp: string): Buffer {
  return pngChunk('iTXt', Buffer.from(`XML:com.adobe.xmp\0\0\0\0\0${xmp}`, 'utf8'));
}

/** A chunk of a PNG; see section 5.3 of its specification. */
export function pngChunk(type: string, data: Buffer = Buffer.alloc(0)): Buffer {
  const whole = Buffer.alloc(data.length + 12);
  whole.writeUInt32BE(data.length, 0);
  whole.write(type, 4, 'latin1');
  data.copy(whole, 8);
  whole.writeUInt32BE(checksumOf(whole), data.length + 8);
  return whole;
}

/**
 * Whether compressed pixel data are just the rows of a picture that is not interlaced: the stream is whole and its checksum right, every
 * row has its length and a known filter, and nothing hides behind them. Undoing the filters can't fail, so the rest is a decoder's
 * arithmetic. `rowBytes`: without the byte that names the filter.
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

import { open } from 'node:fs/promises';
import type { FileContent } from '../lib/file-content.ts';
import { MediaError } from './media-error.ts';

export type ImageType = 'png' | 'jpeg' | 'webp';
/** The containers we accept, named after ffmpeg's demuxers. */
export type VideoContainer = 'mov' | 'matroska' | 'avi';
export type FileSignature =
  | { readonly kind: 'image'; readonly type: ImageType }
  | { readonly kind: 'video'; readonly type: VideoContainer };

const HEAD_BYTES = 16;

/**
 * Determines the type of a file from its first bytes, for the six types we accept. Returns undefined for everything else (SVG, PDF, TIFF,
 * GIF, playlists, concat scripts, archives). The result forces the decoder, so a polyglot file is read as exactly one type.
 */
export function signatureOf(head: Uint8Array): FileSignature | undefined {
  const bytes = Buffer.from(head.buffer, head.byteOffset, head.byteLength);
  if (bytes.length < 12) {
    return undefined;
  }
  if (bytes.subarray(0, 8).equals(Buffer.from('89504e470d0a1a0a', 'hex'))) {
    return { kind: 'image', type: 'png' };
  }
  if (bytes.readUIntBE(0, 3) === 0xffd8ff) {
    return { kind: 'image', type: 'jpeg' };
  }
  if (bytes.readUInt32BE(0) === 0x1a45dfa3) {
    return { kind: 'video', type: 'matroska' };
  }
  if (bytes.toString('latin1', 4, 8) === 'ftyp') {
    return isStillBrand(bytes.toString('latin1', 8, 12)) ? undefined : { kind: 'video', type: 'mov' };
  }
  if (bytes.toString('latin1', 0, 4) !== 'RIFF') {
    return undefined;
  }
  const form = bytes.toString('latin1', 8, 12);
  if (form === 'WEBP') {
    return { kind: 'image', type: 'webp' };
  }
  return form === 'AVI ' ? { kind: 'video', type: 'avi' } : undefined;
}

export interface Identified {
  readonly type: FileSignature['type'];
  readonly bytes: number;
}

/** Like {@link identifyFile}, for content that may still be in memory. */
export async function identifyContent(
  content: FileContent,
  kind: 'image' | 'video',
  bytesMax: number,
): Promise<Identified> {
  return typeof content === 'string'
    ? await identifyFile(content, kind, bytesMax)
    : check(content.subarray(0, HEAD_BYTES), content.length, kind, bytesMax);
}

/** Checks the kind and size of a regular file. Throws {@link MediaError} media_type_refused, media_too_large or media_corrupt. */
export async function identifyFile(
  path: string,
  kind: 'image' | 'video',
  bytesMax: number,
): Promise<Identified> {
  const file = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') {
      throw error;
    }
    throw new MediaError('media_corrupt', 'the engine produced no readable file', { cause: error });
  });
  try {
    const stats = await file.stat();
    const head = Buffer.alloc(HEAD_BYTES);
    const { bytesRead } = stats.isFile() ? await file.read(head, 0, HEAD_BYTES, 0) : { bytesRead: 0 };
    return check(head.subarray(0, bytesRead), stats.isFile() ? stats.size : 0, kind, bytesMax);
  } finally {
    await file.close();
  }
}

function check(head: Buffer, bytes: number, kind: 'image' | 'video', bytesMax: number): Identified {
  if (bytes === 0) {
    throw new MediaError('media_corrupt', 'the engine produced an empty file');
  }
  if (bytes > bytesMax) {
    throw new MediaError(
      'media_too_large',
      `the ${kind} has ${bytes} bytes, but at most ${bytesMax} are accepted`,
    );
  }
  const signature = signatureOf(head);
  if (signature?.kind !== kind) {
    throw new MediaError('media_type_refused', `the file is not an accepted type of ${kind}`);
  }
  return { type: signature.type, bytes };
}

// HEIF stills share the box layout of MP4.
function isStillBrand(brand: string): boolean {
  return ['heic', 'heix', 'heim', 'heis', 'mif1', 'msf1', 'avif', 'avis'].includes(brand);
}

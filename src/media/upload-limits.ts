import { IMAGE_BYTES_MAX, VIDEO_BYTES_MAX } from './media-limits.ts';
import { isStorageKey, mediaTypeOfKey } from './storage-key.ts';

/** The keys that workers on other hosts may access: raw output and finished files. */
const NAMESPACES = /^(raw|acct)\//;

/** Returns whether a string is the key of a file that a worker on another host may store, read and delete. */
export function isUploadKey(key: string): boolean {
  return isStorageKey(key) && NAMESPACES.test(key) && mediaTypeOfKey(key) !== undefined;
}

/** Maximum size in bytes of an image that we made: a PNG of 4096 × 4096 pixels with alpha and 16 bits, barely compressed. */
const FINISHED_IMAGE_BYTES_MAX = 160 * 1024 * 1024;

/** Returns the maximum size of the file with that key, in bytes. */
export function uploadBytesMax(key: string): number {
  if (mediaTypeOfKey(key)?.startsWith('video/')) {
    return VIDEO_BYTES_MAX;
  }
  return key.startsWith('raw/') ? IMAGE_BYTES_MAX : FINISHED_IMAGE_BYTES_MAX;
}

import { IMAGE_BYTES_MAX, VIDEO_BYTES_MAX } from './media-limits.ts';
import { isStorageKey, mediaTypeOfKey } from './storage-key.ts';

/** The keys that workers on other hosts may access: raw output and finished files. */
const NAMESPACES = /^(raw|acct)\//;

/** Returns whether a string is the key of a file that a worker on another host may store, read and delete. */
export function isUploadKey(key: string): boolean {
  return isStorageKey(key) && NAMESPACES.test(key) && mediaTypeOfKey(key) !== undefined;
}

/** Returns the maximum size of a file of that type, in bytes. */
export function uploadBytesMax(mediaType: string): number {
  return mediaType.startsWith('video/') ? VIDEO_BYTES_MAX : IMAGE_BYTES_MAX;
}

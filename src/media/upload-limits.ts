import { IMAGE_BYTES_MAX, VIDEO_BYTES_MAX } from './media-limits.ts';
import { isStorageKey, mediaTypeOfKey } from './storage-key.ts';

/** What workers on other hosts may reach: raw output and finished files. */
const NAMESPACES = /^(raw|acct)\//;

/** Whether a text is the key of a file that a worker on another host may store, read and delete. */
export function isUploadKey(key: string): boolean {
  return isStorageKey(key) && NAMESPACES.test(key) && mediaTypeOfKey(key) !== undefined;
}

/** The most bytes a file of that type may have. */
export function uploadBytesMax(mediaType: string): number {
  return mediaType.startsWith('video/') ? VIDEO_BYTES_MAX : IMAGE_BYTES_MAX;
}

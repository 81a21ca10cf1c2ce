import { InvariantError } from '../lib/errors.ts';
import type { MediaOutput, MediaVariant } from './postprocess.ts';

/** The parts of a stored file's key. The ids are ours; nothing comes from the prompt or the client. */
export interface StorageKeyParts {
  readonly accountId: string;
  readonly taskId: string;
  /** When the task was submitted, in Unix ms. Lets a whole old month be deleted at once. */
  readonly createdAtMs: number;
  readonly index: number;
  readonly variant: MediaVariant;
  /** Lowercase hex of the file's hash, so the content of a key never changes. */
  readonly sha256: string;
  readonly mediaType: MediaOutput['mediaType'];
}

const EXTENSIONS: Record<MediaOutput['mediaType'], string> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'video/mp4': 'mp4',
};
const MEDIA_TYPES: Record<string, MediaOutput['mediaType']> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  webp: 'image/webp',
  mp4: 'video/mp4',
};

const KEY_CHARACTERS_MAX = 512;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const SEGMENT = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$/;

/**
 * Builds `acct/<account>/<yyyy-mm>/<task>/<index>-<variant>-<sha256[:16]>.<ext>`: all files of an account or a task share a prefix, and
 * identical files of two customers never share an object. Throws InvariantError for parts that do not make a valid key.
 */
export function storageKey(parts: StorageKeyParts): string {
  const month = new Date(parts.createdAtMs).toISOString().slice(0, 7);
  const name = `${parts.index}-${parts.variant}-${parts.sha256.slice(0, 16)}.${EXTENSIONS[parts.mediaType]}`;
  const key = ['acct', parts.accountId, month, parts.taskId, name].join('/');
  if (!isStorageKey(key) || mediaTypeOfKey(key) === undefined) {
    throw new InvariantError(`invalid storage key: ${key}`);
  }
  return key;
}

/** Returns the task id in a key, `acct/<account>/<month>/<task>/…` or `raw/<task>/…`; undefined for any other key. */
export function taskOfKey(key: string): string | undefined {
  const [area, ...rest] = key.split('/');
  const task = area === 'acct' ? rest[2] : area === 'raw' ? rest[0] : undefined;
  return task !== undefined && UUID.test(task) ? task : undefined;
}

/** Returns whether a string can be a key: plain names separated by `/`, none of which begins with a dot. */
export function isStorageKey(key: string): boolean {
  return (
    key.length <= KEY_CHARACTERS_MAX &&
    key.includes('/') &&
    key.split('/').every((segment) => SEGMENT.test(segment))
  );
}

/** Returns the media type for a key's extension; undefined for an unknown one. */
export function mediaTypeOfKey(key: string): MediaOutput['mediaType'] | undefined {
  const extension = key.slice(key.lastIndexOf('.') + 1);
  return Object.hasOwn(MEDIA_TYPES, extension) ? MEDIA_TYPES[extension] : undefined;
}
